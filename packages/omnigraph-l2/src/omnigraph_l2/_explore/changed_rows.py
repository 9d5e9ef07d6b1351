"""The rows that a commit changed in a table, before and after.

Always: a page is read as a stream and no further than it goes. Where rows are large, only their ids
and their small columns are read, and the page says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2 import DiffPart, Repository
from omnigraph_l2._explore.cells import shown
from omnigraph_l2._explore.changes import (
    diff_of_commit,
    rows_to_compare,
    size_of_a_row,
    too_many,
)
from omnigraph_l2._explore.rows import columns_told
from omnigraph_l2.errors import InvalidRequest

__all__ = ["changed_rows"]

Plain = dict[str, Any]

_COLUMNS: Final = 40
_ROWS_OF_A_PART: Final = 100_000
_SKIPPED_AT_MOST: Final = 20_000
_LARGE_ROW: Final = 20_000
_WHAT: Final = "Reading changed rows"
_KINDS: Final = ("insert", "update", "delete")


def changed_rows(
    repo: Repository, commit_id: str, table_key: str, *, kind: str | None, skip: int, limit: int
) -> Plain:
    """Give some of the rows that a commit changed."""
    _check(kind, skip)
    parts = diff_of_commit(repo, commit_id).share(table_key, rows_of_a_part=_ROWS_OF_A_PART)
    if too_many(parts):
        rows = rows_to_compare(parts)
        reason = f"up to {rows:,} rows would have to be compared; `omnigraph diff` does it"
        raise InvalidRequest(what=_WHAT, reason=reason)
    columns = _columns(parts)
    names = columns.names[:_COLUMNS]
    if size_of_a_row(parts) > _LARGE_ROW:
        names = [name for name in names if name == "id" or _is_small(columns.field(name).type)]
    found = list(islice(_rows(parts, names, kind, skip), limit + 1))
    return {
        "table": table_key,
        "columns": columns_told(columns, names),
        "left_out": len(columns.names) - len(names),
        "rows": [_row(each, names) for each in found[:limit]],
        "next": skip + limit if len(found) > limit else None,
    }


def _check(kind: str | None, skip: int) -> None:
    if kind is not None and kind not in _KINDS:
        reason = f"a kind of change is one of {', '.join(_KINDS)}, found {kind[:80]!r}"
        raise InvalidRequest(what=_WHAT, reason=reason)
    if skip > _SKIPPED_AT_MOST:
        reason = f"the page shows the first {_SKIPPED_AT_MOST:,} only; `omnigraph diff` gives all"
        raise InvalidRequest(what=_WHAT, reason=reason)


def _columns(parts: Sequence[DiffPart]) -> pa.Schema:
    """Give the columns, those that stayed and those that came first."""
    fields: dict[str, pa.Field] = {}
    for side in ("after", "before"):
        for part in (*parts[:1], *parts[-1:]):
            for field in part.schema.field(side).type:
                fields.setdefault(field.name, field)
    return pa.schema(list(fields.values()))


def _is_small(type_: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(type_) or pa.types.is_boolean(type_))


def _rows(
    parts: Sequence[DiffPart], names: Sequence[str], kind: str | None, skip: int
) -> Iterator[pa.RecordBatch]:
    """Give rows one by one, as batches of one row; those that are passed over cost no copy."""
    for part in parts:
        for batch in part.rows(names):
            kinds = batch.column("change")
            wanted = batch if kind is None else batch.filter(pc.equal(kinds, kind))
            passed = min(skip, wanted.num_rows)
            skip -= passed
            for number in range(passed, wanted.num_rows):
                yield wanted.slice(number, 1)


def _row(row: pa.RecordBatch, names: Sequence[str]) -> Plain:
    before, after = row.column("before"), row.column("after")
    kind = row.column("change")[0].as_py()
    changed = [
        number
        for number, name in enumerate(names)
        if kind == "update" and not _is_same(_value(before, name), _value(after, name))
    ]
    return {
        "change": kind,
        "changed": changed,
        "before": _side(before, names),
        "after": _side(after, names),
    }


def _side(structs: Any, names: Sequence[str]) -> list[Any] | None:
    if not structs[0].is_valid:
        return None
    return [None if (found := _value(structs, name)) is None else shown(found)[0] for name in names]


def _value(structs: Any, name: str) -> Any:
    """Give a value of a row, as an array of one; None where it has no such column."""
    index = structs.type.get_field_index(name)
    return None if index < 0 else pc.struct_field(structs, [index])


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal; a column that is not there is null, NaN is NaN."""
    if one is None or other is None:
        there = other if one is None else one
        return there is None or not there[0].is_valid
    return one.equals(other) or (_is_nan(one) and _is_nan(other))


def _is_nan(values: Any) -> bool:
    if not pa.types.is_floating(values.type) or not values[0].is_valid:
        return False
    return math.isnan(values[0].as_py())
