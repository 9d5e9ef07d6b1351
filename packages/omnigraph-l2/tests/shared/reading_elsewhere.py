"""What processes run that read a shared table: they can import this."""

from __future__ import annotations

from omnigraph_l2 import ReadTarget

__all__ = ["names"]


def names(target: ReadTarget) -> list[str]:
    """Read the ids."""
    return sorted(target.scan(["id"]).read_all()["id"].to_pylist())
