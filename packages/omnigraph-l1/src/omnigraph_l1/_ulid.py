"""ULIDs: ids that sort by the time at which they were made. The caller passes time and chance."""

from __future__ import annotations

import os
import time

__all__ = ["format_ulid", "new_ulid"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TIME_BITS, _RANDOM_BYTES, _LENGTH = 48, 10, 26


def format_ulid(milliseconds: int, randomness: bytes) -> str:
    """Write 48 bits of time and 80 bits of chance as 26 characters of Crockford's base 32."""
    if not 0 <= milliseconds < 1 << _TIME_BITS or len(randomness) != _RANDOM_BYTES:
        msg = "a ULID is made of 48 bits of milliseconds and 10 random bytes"
        raise ValueError(msg)
    number = (milliseconds << 8 * _RANDOM_BYTES) | int.from_bytes(randomness, "big")
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(5 * (_LENGTH - 1), -1, -5))


def new_ulid() -> str:
    """Make a ULID for now."""
    return format_ulid(time.time_ns() // 1_000_000, os.urandom(_RANDOM_BYTES))
