"""What became of a process under test, and what it said on its way.

Invariant: an outcome is complete, and its process is gone.
"""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import Any

import attrs

__all__ = ["Ending", "LeftFile", "Outcome", "tree"]


class Ending(enum.Enum):
    """How a process ended."""

    FINISHED = "finished"
    """It did what it should and gave its value back."""
    RAISED = "raised"
    """An exception came out of it."""
    KILLED = "killed"
    """It was killed with SIGKILL."""
    DIED = "died"
    """It left by another signal or with an exit status of its own."""


@attrs.frozen
class LeftFile:
    """Something that was left on disk: its path below the root, and its size."""

    path: str
    size: int = attrs.field(kw_only=True)
    is_directory: bool = attrs.field(kw_only=True, default=False)

    def __str__(self) -> str:
        return f"{self.path}/" if self.is_directory else f"{self.path} ({self.size} bytes)"


@attrs.frozen(kw_only=True)
class Outcome:
    """The end of one run.

    ``passed`` has every failpoint in order, each as often as it was passed; ``marks`` what the
    process called ``mark`` with; ``killed_at`` the point, if it was killed at one.
    """

    what: str
    ending: Ending
    exit_status: int
    value: Any = None
    error_type: str | None = None
    traceback: str | None = attrs.field(default=None, repr=False)
    passed: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    declared: frozenset[str] = attrs.field(default=frozenset(), repr=False)
    killed_at: str | None = None
    stdout: str = attrs.field(default="", repr=False)
    stderr: str = attrs.field(default="", repr=False)
    seconds: float = 0.0

    @property
    def killed(self) -> bool:
        """Whether it was killed."""
        return self.ending is Ending.KILLED

    @property
    def finished(self) -> bool:
        """Whether it came to its end and gave ``value`` back."""
        return self.ending is Ending.FINISHED

    @property
    def raised(self) -> bool:
        """Whether an exception came out of it: see ``error_type`` and ``traceback``."""
        return self.ending is Ending.RAISED

    @property
    def detail(self) -> str:
        """What there is to say about a bad end."""
        if self.traceback is not None:
            return self.traceback
        return f"exit status {self.exit_status}; stderr ends:\n{self.stderr[-2000:]}"


def tree(root: str | os.PathLike[str]) -> tuple[LeftFile, ...]:
    """List all that is below a directory, sorted by path."""
    base = Path(root)
    found = (
        LeftFile(
            path.relative_to(base).as_posix(),
            size=0 if path.is_dir() else path.lstat().st_size,
            is_directory=path.is_dir() and not path.is_symlink(),
        )
        for path in base.rglob("*")
    )
    return tuple(sorted(found, key=lambda left: left.path))
