"""Which columns a table can have: told before Lance makes a table that it cannot read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from omnigraph_l1._places import Place
from omnigraph_l1.errors import InvalidRequest

__all__ = ["checked_fields", "checked_schema", "column_problems"]

_LANCES_OWN = frozenset(
    {
        "_rowid",
        "_rowaddr",
        "_rowoffset",
        "_row_created_at_version",
        "_row_last_updated_at_version",
    }
)


def checked_schema(given: Any, *, place: Place) -> pa.Schema:
    """Give a schema that a table can have."""
    if not isinstance(given, pa.Schema):
        reason = f"a schema is a pyarrow.Schema, not {type(given).__name__}"
        raise InvalidRequest(place=str(place), reason=reason)
    problems = list(column_problems(given, ()))
    if not given.names:
        problems.append("a table has at least one column")
    if problems:
        raise InvalidRequest(place=str(place), reason="; ".join(problems))
    return given


def checked_fields(given: Any, *, place: Place) -> list[pa.Field]:
    """Give columns that may be added."""
    try:
        fields = list(given)
    except TypeError:
        fields = [given]
    if not all(isinstance(field, pa.Field) for field in fields):
        reason = f"columns are a list of pyarrow.Field, not {given!r}"
        raise InvalidRequest(place=str(place), reason=reason)
    return fields


def column_problems(fields: Iterable[pa.Field], present: Iterable[str]) -> Iterator[str]:
    """Tell what is wrong with the names of columns beside those that are there."""
    names = set(present)
    for field in fields:
        if not field.name or field.name in _LANCES_OWN:
            yield f"no column can be called {field.name!r}"
        if "`" in field.name:
            yield f"column {field.name!r} could not be read: Lance has no way to quote a '`'"
        if field.name in names:
            yield f"there is a column {field.name!r} already"
        names.add(field.name)
