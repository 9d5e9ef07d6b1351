"""The names of refs, and the file names that they are kept under. Pure.

Always: a name becomes one file name, ``<encoded>.json``, and ``decode_name`` gives back exactly
the name that was encoded. ``/`` is written ``%2F`` (FORMAT.md), the percent sign ``%25`` and the
backslash, which some stores turn into a slash, ``%5C``; everything else stands as it is.

Two names that differ only by case, or only by Unicode normalisation, are two refs; a file system
that cannot tell them apart (macOS by default) cannot hold both. Nothing here guards against it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from omnigraph_l1._text import is_text, readable
from omnigraph_l1.errors import InvalidName

__all__ = ["SUFFIX", "check_prefix", "decode_name", "encode_name"]

SUFFIX = ".json"
LONGEST = 255
"""Bytes in a file name, on every common file system."""

_ESCAPES = {"%": "%25", "/": "%2F", "\\": "%5C"}
_BACK = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPE = re.compile("|".join(_BACK))
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def encode_name(name: str) -> str:
    """Give the file name of a ref; ``InvalidName`` says which rule the name breaks."""
    _check_text(name)
    segments = name.split("/")
    if not all(segments):
        raise _invalid(name, "it must not be empty, nor hold an empty segment between slashes")
    if not {".", ".."}.isdisjoint(segments):
        raise _invalid(name, "no segment of it may be '.' or '..'")
    encoded = _encoded(name) + SUFFIX
    size = len(encoded.encode("utf-8"))
    if size > LONGEST:
        rule = f"its file name would have {size} bytes, and file systems take {LONGEST}"
        raise _invalid(name, rule)
    return encoded


@lru_cache(1_024)
def decode_name(file_name: str) -> str | None:
    """Give the name of the ref in a file, or None for a file that no ref is kept in."""
    if not file_name.endswith(SUFFIX):
        return None
    name = _ESCAPE.sub(lambda found: _BACK[found[0]], file_name[: -len(SUFFIX)])
    try:
        return name if encode_name(name) == file_name else None
    except InvalidName:
        return None


def check_prefix(prefix: str) -> None:
    """Refuse a prefix that no name can have; any other text is a prefix."""
    _check_text(prefix)


def _check_text(name: str) -> None:
    if not is_text(name):
        raise _invalid(readable(name), "it must be text, of valid Unicode")
    if _CONTROL.search(name):
        raise _invalid(name, "it must not hold control characters")


def _encoded(name: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in name)


def _invalid(name: str, rule: str) -> InvalidName:
    return InvalidName(what="ref", name=name, rule=rule)
