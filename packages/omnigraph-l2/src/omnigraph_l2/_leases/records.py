"""What a lease says, and how it is written down. Pure.

Always: what cannot be read is never taken for a lease that needs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import attrs

from omnigraph_l2.errors import CorruptRepository

__all__ = ["LeaseRecord", "parsed", "written"]

_FORMAT = 1


@attrs.frozen(kw_only=True)
class LeaseRecord:
    """What the holder of a lease may still need."""

    process: int
    """The process, for people who look."""
    renewed_at: datetime
    """When it was written, by the clock of the holder: for people, too."""
    seconds: float
    """How long it counts after it was written."""
    since: datetime
    """Since when files may be staged, and what is needed of branches that ``pins`` leaves out."""
    pins: Mapping[str, int]
    """The oldest version that is needed of branches of the catalog; ``main`` is main."""
    cleaning: bool = False
    """Whether the holder cleans up."""


def written(record: LeaseRecord) -> dict[str, Any]:
    """Write a lease down."""
    return {
        "format": _FORMAT,
        "process": record.process,
        "renewed_at": record.renewed_at.isoformat(),
        "seconds": record.seconds,
        "since": record.since.isoformat(),
        "pins": dict(record.pins),
        "cleaning": record.cleaning,
    }


def parsed(name: str, found: Mapping[str, Any], place: str) -> LeaseRecord:
    """Read a lease."""
    try:
        if found["format"] != _FORMAT:
            detail = f"its format is {found['format']!r}, known is {_FORMAT}"
            raise CorruptRepository(place=place, item=f"lease {name}", detail=detail)
        return LeaseRecord(
            process=int(found["process"]),
            renewed_at=_moment(found["renewed_at"]),
            seconds=float(found["seconds"]),
            since=_moment(found["since"]),
            pins={str(key): int(version) for key, version in found["pins"].items()},
            cleaning=bool(found["cleaning"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        detail = f"it cannot be read ({type(error).__name__}: {error})"
        raise CorruptRepository(place=place, item=f"lease {name}", detail=detail) from error


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
