"""What a ref is, and how it is written down. Pure.

A document is a JSON object: the keys of its value, and beside them

* ``write_id``: the id of the write that made it, by which its author knows it;
* ``earlier_writes``: the ids of the writes before it, newest first, ``REMEMBERED`` at most. With
  them an author whose reply was lost can tell "mine landed, and somebody went on from it" from
  "mine did not land", also when the document is no longer his own;
* ``deleted``: true in a tombstone, which stores keep in place of a ref that was deleted.

Always: what is composed here parses back to the same; a document of another program, without a
write id, gets the digest of its bytes for one, so that it can be compared and replaced too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import attrs

from omnigraph_l1.errors import CorruptRef, InvalidRequest

__all__ = ["REMEMBERED", "Document", "Ref", "check_value", "compose", "parse"]

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
        value: dict[str, Any] = json.loads(self._text)
        return value

    def follows(self, write_id: str) -> bool:
        """Tell whether this is the write of that id, or is known to have come after it."""
        return write_id == self.write_id or write_id in self.earlier_writes


def check_value(place: str, name: str, value: Mapping[str, Any]) -> str:
    """Give the value as JSON text; ``InvalidRequest`` says why it cannot be one."""
    if not isinstance(value, Mapping):
        raise _refused(place, name, f"is a {type(value).__name__}, and must be a mapping")
    for key in _OURS:
        if key in value:
            raise _refused(place, name, f"must not have the key {key!r}, which is kept for us")
    try:
        text = _text(dict(value))
        same = json.loads(text) == dict(value)
        size = len(text.encode("utf-8"))
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(place, name, f"is not JSON: {error}") from error
    if not same:
        raise _refused(place, name, "would not come back as it is; use text for keys, and lists")
    if size > _LARGEST:
        raise _refused(place, name, f"has {size} bytes, and {_LARGEST} are the most")
    return text


def compose(text: str, *, write_id: str, before: Document | None, deleted: bool = False) -> bytes:
    """Write the document that follows on ``before``."""
    content = json.loads(text)
    content[_WRITE_ID] = write_id
    content[_EARLIER] = list(before.writes[:REMEMBERED]) if before is not None else []
    if deleted:
        content[_DELETED] = True
    return (_json(content) + "\n").encode("utf-8")


def parse(place: str, name: str, data: bytes, token: str) -> Document:
    """Read a document; ``CorruptRef`` says what is the matter with it."""
    try:
        content = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        found = f"it holds {len(data)} bytes that are not JSON ({error})"
        raise CorruptRef(place=place, name=name, detail=found) from error
    if not isinstance(content, dict):
        found = f"it holds a JSON {type(content).__name__}, not an object"
        raise CorruptRef(place=place, name=name, detail=found)
    write_id = content.pop(_WRITE_ID, None)
    earlier = content.pop(_EARLIER, [])
    deleted = content.pop(_DELETED, False)
    is_ours = write_id is not None
    if not is_ours:
        write_id = "sha256-" + hashlib.sha256(data).hexdigest()
    ids: list[Any] = [write_id, *earlier] if isinstance(earlier, list) else [None]
    if not all(isinstance(each, str) for each in ids) or not isinstance(deleted, bool):
        found = f"{_WRITE_ID!r}, {_EARLIER!r} or {_DELETED!r} in it is of the wrong type"
        raise CorruptRef(place=place, name=name, detail=found)
    return Document(
        text=_text(content),
        write_id=write_id,
        earlier_writes=tuple(ids[1:]),
        deleted=deleted,
        is_ours=is_ours,
        token=token,
    )


def _text(value: object) -> str:
    """Write a value down for ourselves: many times as quick as for people, who read the file."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1)


def _refused(place: str, name: str, what: str) -> InvalidRequest:
    return InvalidRequest(place=place, reason=f"the value of ref {name!r} {what}")
