"""How values are written as text: UTF-8, JSON, and ULIDs, which sort by the time they were made."""

from __future__ import annotations

import json
import os
import time
from typing import Any

__all__ = ["decode_json", "encode_json", "format_ulid", "is_text", "new_ulid", "readable"]


def is_text(given: Any) -> bool:
    """Return whether it is text that UTF-8 can write."""
    if not isinstance(given, str):
        return False
    try:
        given.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def readable(given: Any) -> str:
    """Show what should have been text, as text that UTF-8 can write."""
    text = given if isinstance(given, str) else repr(given)
    return text.encode("utf-8", "backslashreplace").decode()


def encode_json(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """Return a value as JSON text. Raise TypeError or ValueError if it is not JSON."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, indent=indent, sort_keys=sort_keys
    )


def decode_json(text: str | bytes) -> Any:
    """Return the value of JSON text in UTF-8. Raise ValueError for anything else."""
    try:
        return json.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except RecursionError as error:
        raise ValueError(str(error)) from error


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
