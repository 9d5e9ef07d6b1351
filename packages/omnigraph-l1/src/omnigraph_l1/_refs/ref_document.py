"""What a ref is, and how it is written down. Pure.

A document is a JSON object: the keys of its value, and

* ``write_id``: the id of the write that made it, by which its author knows it;
* ``earlier_writes``: the ids of the writes before it, newest first, ``REMEMBERED`` at most. With
  them an author whose reply was lost can distinguish "mine landed, and was replaced" from
  "mine did not land", also when the document is no longer his own;
* ``deleted``: true in a tombstone, which stores keep in place of a ref that was deleted.

Invariant: what is composed here parses back to the same; a document of another program, without a
write id, gets the digest of its bytes for one, so that it can be compared and replaced too.

The name of a ref becomes one file name, ``<encoded>.json``, and ``decode_name`` returns exactly the
name that was encoded. ``/`` is written ``%2F`` (FORMAT.md), the percent sign ``%25`` and the
backslash, which some stores turn into a slash, ``%5C``; everything else stays as it is. Two names
that differ only by case, or only by Unicode normalisation, are two refs: a file system that cannot
distinguish them (macOS by default) cannot hold both, and nothing here guards against it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import attrs

from omnigraph_l1._text_encoding import decode_json, encode_json, is_text, readable
from omnigraph_l1.errors import CorruptRef, InvalidName, InvalidRequest

__all__ = [
    "REMEMBERED",
    "SUFFIX",
    "Document",
    "Ref",
    "check_prefix",
    "check_value",
    "compose",
    "decode_name",
    "digest",
    "encode_name",
    "parse",
]

REMEMBERED = 16
_LARGEST = 1 << 20
_WRITE_ID, _EARLIER, _DELETED = "write_id", "earlier_writes", "deleted"
_OURS = (_WRITE_ID, _EARLIER, _DELETED)


@attrs.frozen(kw_only=True)
class Document:
    """A document as it stands in a backend; ``token`` is what the backend compares."""

    text: str
    """The value as JSON, without our keys."""
    write_id: str
    earlier_writes: tuple[str, ...] = ()
    deleted: bool = False
    is_ours: bool = True
    """Whether a store of refs wrote it, which remembers what was before."""
    token: str = ""

    @property
    def writes(self) -> tuple[str, ...]:
        """Every write that is remembered, this one first."""
        return (self.write_id, *self.earlier_writes)


@attrs.frozen
class Ref:
    """One ref as it was read or written. It is what ``replace`` and ``delete`` compare with."""

    name: str
    write_id: str = attrs.field(kw_only=True)
    """The id of the write that made it."""
    earlier_writes: tuple[str, ...] = attrs.field(kw_only=True, default=(), repr=False)
    """The ids of the writes before it, newest first, as far as they are remembered."""
    _text: str = attrs.field(kw_only=True, repr=False)
    _token: str = attrs.field(kw_only=True, eq=False, repr=False)

    @property
    def value(self) -> dict[str, Any]:
        """The value, a fresh copy each time."""
        value: dict[str, Any] = decode_json(self._text)
        return value

    def follows(self, write_id: str) -> bool:
        """Return whether this is the write of that id, or is known to have come after it."""
        return write_id == self.write_id or write_id in self.earlier_writes


def check_value(location: str, name: str, value: Mapping[str, Any]) -> str:
    """Return the value as JSON text; ``InvalidRequest`` says why it cannot be one."""
    if not isinstance(value, Mapping):
        raise _invalid_value(location, name, f"is a {type(value).__name__}, and must be a mapping")
    for key in _OURS:
        if key in value:
            raise _invalid_value(
                location, name, f"must not have the key {key!r}, which is kept for us"
            )
    try:
        text = _compact_json(dict(value))
        same = decode_json(text) == dict(value)
        size = len(text.encode("utf-8"))
    except (TypeError, ValueError, RecursionError) as error:
        raise _invalid_value(location, name, f"is not JSON: {error}") from error
    if not same:
        raise _invalid_value(
            location, name, "would not come back as it is; use text for keys, and lists"
        )
    if size > _LARGEST:
        raise _invalid_value(location, name, f"has {size} bytes, and {_LARGEST} are the most")
    return text


def compose(text: str, *, write_id: str, before: Document | None, deleted: bool = False) -> bytes:
    """Write the document that follows on ``before``."""
    content = decode_json(text)
    content[_WRITE_ID] = write_id
    content[_EARLIER] = list(before.writes[:REMEMBERED]) if before is not None else []
    if deleted:
        content[_DELETED] = True
    return (_readable_json(content) + "\n").encode("utf-8")


def parse(location: str, name: str, data: bytes, token: str) -> Document:
    """Read a document; ``CorruptRef`` says what is the matter with it."""
    try:
        content = decode_json(data)
        _compact_json(content).encode("utf-8")  # no NaN, no number without end, no half character
    except (ValueError, RecursionError) as error:
        found = f"it holds {len(data)} bytes that are not JSON ({error})"
        raise CorruptRef(location=location, name=name, detail=found) from error
    if not isinstance(content, dict):
        found = f"it holds a JSON {type(content).__name__}, not an object"
        raise CorruptRef(location=location, name=name, detail=found)
    write_id = content.pop(_WRITE_ID, None)
    earlier = content.pop(_EARLIER, [])
    deleted = content.pop(_DELETED, False)
    is_ours = write_id is not None
    if not is_ours:
        write_id = "sha256-" + digest(data)
    ids: list[Any] = [write_id, *earlier] if isinstance(earlier, list) else [None]
    if not all(isinstance(each, str) for each in ids) or not isinstance(deleted, bool):
        found = f"{_WRITE_ID!r}, {_EARLIER!r} or {_DELETED!r} in it is of the wrong type"
        raise CorruptRef(location=location, name=name, detail=found)
    return Document(
        text=_compact_json(content),
        write_id=write_id,
        earlier_writes=tuple(ids[1:]),
        deleted=deleted,
        is_ours=is_ours,
        token=token,
    )


def digest(data: bytes) -> str:
    """Return the SHA-256 of a document: its token, where the backend has no other.

    No two documents of ours have the same, because each holds its own write id.
    """
    return hashlib.sha256(data).hexdigest()


def _compact_json(value: object) -> str:
    """Write a value down for ourselves: many times as quick as for people, who read the file."""
    return encode_json(value, sort_keys=True)


def _readable_json(value: object) -> str:
    return encode_json(value, sort_keys=True, indent=1)


def _invalid_value(location: str, name: str, what: str) -> InvalidRequest:
    return InvalidRequest(location=location, reason=f"the value of ref {name!r} {what}")


SUFFIX = ".json"
LONGEST = 255
"""Bytes in a file name, on every common file system."""

_ESCAPES = {"%": "%25", "/": "%2F", "\\": "%5C"}
_BACK = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPE = re.compile("|".join(_BACK))
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def encode_name(name: str) -> str:
    """Return the file name of a ref; ``InvalidName`` says which rule the name breaks."""
    _check_text(name)
    segments = name.split("/")
    if not all(segments):
        raise _invalid(name, "it must not be empty, nor hold an empty segment between slashes")
    if not {".", ".."}.isdisjoint(segments):
        raise _invalid(name, "no segment of it may be '.' or '..'")
    encoded = _encode(name) + SUFFIX
    size = len(encoded.encode("utf-8"))
    if size > LONGEST:
        rule = f"its file name would have {size} bytes, and file systems take {LONGEST}"
        raise _invalid(name, rule)
    return encoded


@lru_cache(1_024)
def decode_name(file_name: str) -> str | None:
    """Return the name of the ref in a file, or None for a file that no ref is kept in."""
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


def _encode(name: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in name)


def _invalid(name: str, rule: str) -> InvalidName:
    return InvalidName(what="ref", name=name, rule=rule)
