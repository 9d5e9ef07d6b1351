"""What can be wrong with rows that come in, as values, and the errors that carry it.

Always: an error of data carries every problem that was found, at most ``SHOWN`` of them in full
and the number of the others. These errors are private: whoever calls this folder turns them into
public ones, which know the table and the repository. Nothing here looks at data.
"""

from __future__ import annotations

from typing import Any

import attrs

__all__ = ["SHOWN", "DataProblem", "DataProblems", "SpillFailed"]

SHOWN = 20
"""How many problems one error spells out."""


@attrs.frozen
class DataProblem:
    """One thing that is wrong: the column (or a path into it), what it is, and in which row."""

    column: str
    problem: str
    row: int | None = attrs.field(default=None, kw_only=True)

    def __str__(self) -> str:
        where = self.column if self.row is None else f"{self.column}, row {self.row}"
        return f"{where}: {self.problem}"


def _rebuild(cls: type[Exception], fields: dict[str, Any]) -> Exception:
    return cls(**fields)


@attrs.define(slots=False)
class DataProblems(Exception):
    """The data does not fit. Nothing of it was changed or written. ``more`` are not listed."""

    problems: tuple[DataProblem, ...]
    what: str = attrs.field(default="the table", kw_only=True)
    more: int = attrs.field(default=0, kw_only=True)

    def __str__(self) -> str:
        listed = "; ".join(str(problem) for problem in self.problems)
        more = f"; and {self.more} more" if self.more else ""
        return f"The data does not fit {self.what}: {listed}{more}."

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), attrs.asdict(self, recurse=False))


@attrs.define(slots=False, kw_only=True)
class SpillFailed(Exception):
    """Rows could not be kept on disk for a while. ``full`` tells that no room was left."""

    directory: str
    detail: str
    full: bool = False

    def __str__(self) -> str:
        remedy = "Make room there" if self.full else "Make it a place that can be written"
        return (
            f"Rows that do not fit in memory could not be kept in {self.directory}: "
            f"{self.detail}. {remedy}, or set TMPDIR to a directory with room."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), attrs.asdict(self, recurse=False))
