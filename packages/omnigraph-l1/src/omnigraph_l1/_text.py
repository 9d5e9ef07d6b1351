"""Text from callers: what UTF-8 can write, and what is shown of anything else. Pure."""

from __future__ import annotations

from typing import Any

__all__ = ["is_text", "readable"]


def is_text(given: Any) -> bool:
    """Tell whether it is text that UTF-8 can write."""
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
