"""Times and sizes, as people write and read them. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from omnigraph_l2._cli.status import UsageError

__all__ = ["duration_of", "moment_of", "shown_bytes", "shown_time"]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_STEP = 1024
_LONGEST = timedelta(days=365_000)


def moment_of(text: str) -> datetime:
    """Read a time; one without a zone is in UTC."""
    try:
        found = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    except ValueError as error:
        message = f"{text!r} is no time: write it as in 2026-01-31T12:00:00+00:00, or 2026-01-31"
        raise UsageError(message) from error
    return found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)


def duration_of(text: str) -> timedelta:
    """Read how long: ``7d``, ``12h``, ``90s``, ``0d``."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        message = f"{text!r} is no duration: write a number and one of s, m, h, d, w, as in 7d"
        raise UsageError(message)
    try:
        found = timedelta(**{_UNITS[match[2]]: float(match[1])})
    except OverflowError:
        found = timedelta.max
    if found > _LONGEST:
        message = f"{text!r} is too long: {_LONGEST.days} days at the most"
        raise UsageError(message)
    return found


def shown_time(moment: datetime | None) -> str:
    """Show a time to the second, in UTC."""
    if moment is None:
        return "-"
    return f"{moment.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S}Z"


def shown_bytes(count: int) -> str:
    """Show a size to three digits."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < _STEP:
            return f"{count} B" if unit == "B" else f"{size:.3g} {unit}"
        size /= _STEP
    return f"{size:.3g} TiB"
