"""Text from data, made harmless for a terminal. Pure.

Always: what comes out has no control character, nothing that turns the direction of text around,
and no lone half of a character pair: none of it can move a cursor, change a title or hide itself.
"""

from __future__ import annotations

import re

__all__ = ["escaped", "escaped_lines"]

_BAD = (
    r"\x00-\x1f\x7f-\x9f"  # control characters, and those of eight bits
    r"\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"  # direction, invisible
    r"\ud800-\udfff"
)
_UNSAFE = re.compile(f"[{_BAD}]")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escaped(text: str) -> str:
    """Show on one line what could do something to a terminal."""
    return _UNSAFE.sub(_shown, text)


def escaped_lines(text: str) -> str:
    """Do the same, and leave ends of lines."""
    return "\n".join(map(escaped, text.split("\n")))


def _shown(match: re.Match[str]) -> str:
    found = match.group()
    code = ord(found)
    return _NAMED.get(found) or (f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}")  # noqa: PLR2004
