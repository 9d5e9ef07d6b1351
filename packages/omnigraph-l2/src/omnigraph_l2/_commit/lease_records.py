"""The document of a lease: what it contains, encoding and decoding. Pure.

Invariant: a document that cannot be read raises an error; it never counts as a lease that needs
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import attrs

from omnigraph_l2._store.ref_documents import (
    DOCUMENT_FORMAT,
    check_number,
    parse_time,
    reading_document,
)

__all__ = ["LeaseRecord", "parse_lease", "write_lease"]

_LONGEST_SECONDS: Final = 86_400.0


@attrs.frozen(kw_only=True)
class LeaseRecord:
    """What the holder of a lease may still need."""

    process: int
    """The process, for people who read the document."""
    renewed_at: datetime
    """When it was written, by the clock of the holder, also for people."""
    seconds: float
    """How long it counts after it was written."""
    since: datetime
    """Since when files may be staged, and what is needed of branches that ``pins`` leaves out."""
    pins: Mapping[str, int]
    """The oldest version that is needed of branches of the catalog; ``main`` is main."""
    cleaning: bool = False
    """Whether the holder cleans up."""


def write_lease(record: LeaseRecord) -> dict[str, Any]:
    """Encode a lease."""
    return {
        "format": DOCUMENT_FORMAT,
        "process": record.process,
        "renewed_at": record.renewed_at.isoformat(),
        "seconds": record.seconds,
        "since": record.since.isoformat(),
        "pins": dict(record.pins),
        "cleaning": record.cleaning,
    }


def parse_lease(name: str, found: Mapping[str, Any], location: str) -> LeaseRecord:
    """Decode a lease."""
    with reading_document(found, item=f"lease {name}", location=location):
        return LeaseRecord(
            process=check_number(found["process"]),
            renewed_at=parse_time(found["renewed_at"]),
            seconds=_seconds(found["seconds"]),
            since=parse_time(found["since"]),
            pins={name: check_number(version) for name, version in found["pins"].items()},
            cleaning=bool(found["cleaning"]),
        )


def _seconds(value: Any) -> float:
    """Return a duration, or raise: a lease that counts for ever would hold all cleanups back."""
    seconds = float(value)
    if not 0 < seconds <= _LONGEST_SECONDS:
        problem = f"{value!r} is no duration of a lease"
        raise ValueError(problem)
    return seconds
