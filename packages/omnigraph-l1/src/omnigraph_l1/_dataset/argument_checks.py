"""Checks of arguments: words, versions, ids and columns, before anything is done.

Invariant: what cannot be meant is refused with a typed error that says what may be given. Nothing
is read or written here.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, TypeVar

import pyarrow as pa

from omnigraph_l1._storage.location import Location
from omnigraph_l1._text_encoding import is_text, readable
from omnigraph_l1.errors import DataProblem, InvalidFilter, InvalidRequest, UnknownVersion

__all__ = [
    "check_schema",
    "column_problems",
    "is_mapping",
    "is_texts",
    "key_problems",
    "parse_count",
    "parse_fields",
    "parse_filter",
    "parse_list",
    "parse_texts",
    "parse_transaction_id",
    "parse_version",
    "parse_word",
    "require_kind",
]

_Word = TypeVar("_Word", bound=Enum)
_Kind = TypeVar("_Kind")

_BEYOND_VERSIONS = 2**63
_ID = re.compile(r"[A-Za-z0-9._-]{8,128}")


def parse_word(kind: type[_Word], given: Any, *, location: Location, what: str) -> _Word:
    """Return the member that is meant, by itself or by its value."""
    try:
        return kind(given)
    except ValueError:
        allowed = ", ".join(repr(member.value) for member in kind)
        reason = f"invalid {what} {given!r}: expected one of {allowed}"
    raise InvalidRequest(location=str(location), reason=reason)


def parse_version(given: Any, *, location: Location, branch: str | None) -> int:
    """Return the number of a version; one that no version can have is ``UnknownVersion``."""
    try:
        if isinstance(given, bool):
            raise TypeError  # noqa: TRY301 - Python treats it as a number
        version = operator.index(given)
    except TypeError:
        reason = f"invalid version {given!r}: expected a whole number, found {type(given).__name__}"
        raise InvalidRequest(location=str(location), reason=reason) from None
    if not 0 < version < _BEYOND_VERSIONS:
        raise UnknownVersion(location=str(location), branch=branch, version=version)
    return version


def parse_texts(given: Any, *, location: Location, what: str) -> dict[str, str]:
    """Return a mapping of texts to texts, such as Lance keeps in its records."""
    if is_texts(given):
        return dict(given)
    reason = f"invalid {what} {given!r}: expected a mapping of text to text"
    raise InvalidRequest(location=str(location), reason=reason)


def parse_count(
    given: Any, *, location: Location, what: str, least: int = 0, absent: bool = False
) -> int | None:
    """Return a number of rows; with ``absent`` also none."""
    if given is None and absent:
        return None
    if type(given) is not bool and hasattr(given, "__index__"):
        count = operator.index(given)
        if least <= count < _BEYOND_VERSIONS:
            return count
    reason = f"invalid {what} {given!r}: expected a whole number >= {least}"
    raise InvalidRequest(location=str(location), reason=reason)


def parse_filter(given: Any, *, location: Location) -> str:
    """Return a filter that is text; whether it means anything is for Lance to say."""
    if is_text(given):
        return str(given)
    reason = "a filter is text that UTF-8 can write"
    raise InvalidFilter(location=str(location), filter=readable(given), reason=reason)


def parse_list(given: Any, *, location: Location, what: str) -> list[Any]:
    """Return a list. A single text is none: Python would take it for a list of its letters."""
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)):
        return list(given)
    reason = f"invalid {what} {given!r}: expected a list"
    raise InvalidRequest(location=str(location), reason=reason)


def require_kind(given: Any, kind: type[_Kind], *, location: Location) -> _Kind:
    """Return what must be a value of ours, such as a staged change."""
    if isinstance(given, kind):
        return given
    reason = f"invalid value of type {type(given).__name__}: expected a {kind.__name__}"
    raise InvalidRequest(location=str(location), reason=reason)


def is_texts(given: Any) -> bool:
    """Return whether it maps texts to texts."""
    return is_mapping(given) and all(map(is_text, (*given.keys(), *given.values())))


def is_mapping(given: Any) -> bool:
    """Return whether it maps anything to anything."""
    return isinstance(given, Mapping)


def key_problems(key: str, schema: pa.Schema) -> list[DataProblem]:
    """Return why a column cannot be the key of a table."""
    if not is_text(key) or key not in schema.names:
        return [
            DataProblem(
                readable(key),
                f"is no column of the table, which has {', '.join(map(repr, schema.names))}",
            )
        ]
    return []


def parse_transaction_id(given: Any, *, location: Location) -> str:
    """Return the id of a transaction: Lance makes a file name of it."""
    if isinstance(given, str) and _ID.fullmatch(given):
        return given
    shown = repr(given) if len(repr(given)) <= 2 * 128 else f"{len(repr(given))} characters"
    reason = (
        "the id of a transaction is unique and is made of 8 to 128 letters, digits, '.', '_' and "
        f"'-', such as a UUID, not {shown}; leave it out, and one is made"
    )
    raise InvalidRequest(location=str(location), reason=reason)


_LANCES_OWN = frozenset(
    {
        "_rowid",
        "_rowaddr",
        "_rowoffset",
        "_row_created_at_version",
        "_row_last_updated_at_version",
    }
)


def check_schema(given: Any, *, location: Location) -> pa.Schema:
    """Return a schema that a table can have."""
    if not isinstance(given, pa.Schema):
        reason = f"invalid schema of type {type(given).__name__}: expected a pyarrow.Schema"
        raise InvalidRequest(location=str(location), reason=reason)
    problems = list(column_problems(given, ()))
    if not given.names:
        problems.append("a table has at least one column")
    if problems:
        raise InvalidRequest(location=str(location), reason="; ".join(problems))
    return given


def parse_fields(given: Any, *, location: Location) -> list[pa.Field]:
    """Return columns that may be added."""
    try:
        fields = list(given)
    except TypeError:
        fields = [given]
    if not all(isinstance(field, pa.Field) for field in fields):
        reason = f"invalid columns {given!r}: expected a list of pyarrow.Field"
        raise InvalidRequest(location=str(location), reason=reason)
    return fields


def column_problems(fields: Iterable[pa.Field], present: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with the names of columns, including clashes with those present."""
    names = set(present)
    for field in fields:
        if not field.name or field.name in _LANCES_OWN:
            yield f"no column can be called {field.name!r}"
        if "`" in field.name:
            yield f"column {field.name!r} could not be read: Lance has no way to quote a '`'"
        if field.name in names:
            yield f"there is a column {field.name!r} already"
        names.add(field.name)
