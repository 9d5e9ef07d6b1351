"""Times, durations and sizes as people write and read them. No I/O."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from omnigraph_l2._cli.exit_status import UsageError

__all__ = ["format_bytes", "format_time", "parse_duration", "parse_time"]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_STEP = 1024
_LONGEST = timedelta(days=365_000)


def parse_time(text: str) -> datetime:
    """Parse a time. A time without a zone is UTC."""
    try:
        found = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    except ValueError as error:
        message = f"Invalid time {text!r}: expected 2026-01-31T12:00:00+00:00 or 2026-01-31"
        raise UsageError(message) from error
    return found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)


def parse_duration(text: str) -> timedelta:
    """Parse a duration: ``7d``, ``12h``, ``90s``, ``0d``."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        message = f"Invalid duration {text!r}: expected a number with s, m, h, d or w, such as 7d"
        raise UsageError(message)
    try:
        found = timedelta(**{_UNITS[match[2]]: float(match[1])})
    except OverflowError:
        found = timedelta.max
    if found > _LONGEST:
        message = f"Invalid duration {text!r}: expected at most {_LONGEST.days} days"
        raise UsageError(message)
    return found


def format_time(time: datetime | None) -> str:
    """Format a time in UTC, to the second."""
    if time is None:
        return "-"
    return f"{time.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S}Z"


def format_bytes(count: int) -> str:
    """Format a size with three digits."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < _STEP:
            return f"{count} B" if unit == "B" else f"{size:.3g} {unit}"
        size /= _STEP
    return f"{size:.3g} TiB"
