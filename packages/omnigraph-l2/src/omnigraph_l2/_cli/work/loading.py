"""``load``: not there yet."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from omnigraph_l2._cli.options import Job
from omnigraph_l2._cli.status import UsageError

__all__ = ["Order", "load"]


@frozen(kw_only=True)
class Order:
    """What is to be loaded, and how."""

    words: tuple[str, ...]
    mode: str
    format: str | None
    branch: str
    rejects: Path | None
    max_rejects: str
    operation_hash: str | None
    message: str | None


def load(job: Job, order: Order, *, yes: bool) -> int:
    """Bring files into tables."""
    del job, order, yes
    message = "load is not there yet"
    raise UsageError(message)
