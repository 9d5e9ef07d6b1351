"""What processes run that read what was shared: they can import this."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph_l2 import DiffPart, ReadTarget

__all__ = ["changed_ids", "names"]


def names(target: ReadTarget) -> list[str]:
    """Read the ids."""
    return sorted(target.scan(["id"]).read_all()["id"].to_pylist())


def changed_ids(parts: Iterable[DiffPart]) -> list[str]:
    """Read the ids of the rows that differ."""
    return sorted(each for part in parts for each in part.rows().read_all()["id"].to_pylist())
