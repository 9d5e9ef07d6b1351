"""The report of a load.

Invariant: for each table, the rows that were read are the loaded, rejected and left-out ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

__all__ = ["LoadReport", "LoadedTable", "format_counts"]


@attrs.frozen(kw_only=True)
class LoadedTable:
    """What was loaded into one table."""

    table_key: str
    mode: str
    read: int
    loaded: int
    rejected: Mapping[str, int]
    """By reason."""
    left_out: Mapping[str, int]
    """What the mapping says to leave out: ``where``, ``not_first``, ``same``."""

    def __str__(self) -> str:
        line = f"{self.table_key}: {self.loaded:,} of {self.read:,} rows loaded ({self.mode})"
        for what, counts in (("rejected", self.rejected), ("left out", self.left_out)):
            if counts:
                line += f"; {what}: {format_counts(counts)}"
        return line


@attrs.frozen(kw_only=True)
class LoadReport:
    """What a load did."""

    uri: str
    branch: str
    commit_id: str | None
    """The commit; None where nothing was changed."""
    repeated: bool
    """Whether it was done before, under the same ``operation_hash``: then nothing was done."""
    tables: Mapping[str, LoadedTable]
    rejects: str | None
    """The folder with the rejected rows, where there are any and one was named."""
    seconds: float

    @property
    def read(self) -> int:
        """The number of rows read."""
        return sum(each.read for each in self.tables.values())

    @property
    def loaded(self) -> int:
        """The number of rows loaded."""
        return sum(each.loaded for each in self.tables.values())

    @property
    def rejected(self) -> int:
        """The number of rows rejected."""
        return sum(sum(each.rejected.values()) for each in self.tables.values())

    def __str__(self) -> str:
        if self.repeated:
            return f"It was done before, as commit {self.commit_id}; nothing was read or changed."
        what = f"commit {self.commit_id}" if self.commit_id else "nothing was changed"
        head = (
            f"{self.loaded:,} of {self.read:,} rows loaded into {self.branch}, "
            f"{self.rejected:,} rejected, in {self.seconds:.1f} s: {what}"
        )
        lines = [head, *(f"  {each}" for each in self.tables.values())]
        if self.rejects is not None:
            lines.append(f"  the rejected rows are in {self.rejects}")
        return "\n".join(lines)


def format_counts(counts: Mapping[str, int]) -> str:
    """Format counts by reason."""
    return ", ".join(f"{number:,} {reason}" for reason, number in counts.items())
