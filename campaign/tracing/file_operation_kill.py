"""``AtFileOperation``: kill a process at its n-th operation on files."""

from __future__ import annotations

import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import attrs

from omnigraph_testing._crash.kill_points import check_from_one, check_side

__all__ = ["AtFileOperation"]


@attrs.frozen
class AtFileOperation:
    """The n-th operation on files below ``root`` that matches, before or after its effect.

    ``kind`` is one of create, write, truncate, mkdir, symlink, link, rename, exchange, unlink,
    sync, syncall; ``path`` a glob in which ``*`` crosses slashes. Only operations that succeed
    are counted.
    """

    certain: ClassVar[bool] = True
    n: int = attrs.field(validator=check_from_one)
    root: str | os.PathLike[str] = attrs.field(kw_only=True)
    kind: str | None = attrs.field(kw_only=True, default=None)
    path: str = attrs.field(kw_only=True, default="*")
    at: str = attrs.field(kw_only=True, default="before", validator=check_side)

    def __str__(self) -> str:
        what = self.kind or "file operation"
        where = "" if self.path == "*" else f" of {self.path}"
        return f"{self.at} {what} number {self.n}{where}"

    def stopper(self) -> Callable[[Any, bool], bool]:
        """Return the function that the tracer calls at each operation, before and after it."""
        count = 0

        def stop(begun: Any, done: bool) -> bool:  # noqa: FBT001 - the tracer's own protocol
            nonlocal count
            if begun.kind == "report" or not self._matches(begun):
                return False
            if done:
                count += 1
                return self.at == "after" and count == self.n
            return self.at == "before" and count == self.n - 1

        return stop

    def _matches(self, begun: Any) -> bool:
        return self.kind in {None, begun.kind} and fnmatchcase(begun.path, self.path)
