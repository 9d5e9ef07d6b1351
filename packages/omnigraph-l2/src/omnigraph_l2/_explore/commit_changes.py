"""The changes of a commit: counts for each table, and the changed rows of one table.

Invariant: the amount of work is known before tables are compared. A table that would take long gets
an upper bound of its changed rows, and is counted on request. Changed rows are read as a stream, up
to the end of the page; if rows are large, only their ids and small columns are read.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2 import Diff, DiffPart, Repository, Snapshot, TableDiff
from omnigraph_l2._explore.cell_text import format_cells
from omnigraph_l2._explore.row_pages import describe_columns
from omnigraph_l2._explore.serialize import JsonObject
from omnigraph_l2._explore.snapshot_lookup import open_both_sides
from omnigraph_l2.errors import InvalidRequest

__all__ = [
    "average_row_size",
    "compare_commit",
    "is_too_large",
    "list_changes",
    "read_changed_rows",
    "rows_to_compare",
]

_ROWS_AT_MOST: Final = 300_000
_BYTES_AT_MOST: Final = 1_000_000_000
_SECONDS: Final = 6.0
_TABLES: Final = 400


def list_changes(
    repo: Repository,
    commit_id: str,
    *,
    only: str | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> JsonObject:
    """Return the changes of each table; with ``only``, of one table without a time limit."""
    diff = compare_commit(repo, commit_id)
    keys = sorted({*diff.before.tables, *diff.after.tables})
    differing = [key for key in keys if _pin(diff.before, key) != _pin(diff.after, key)]
    if only is not None:
        diff.share(only)  # raises for an unknown table
        differing = [key for key in differing if key == only]
    end = clock() + _SECONDS
    tables = []
    for key in differing[:_TABLES]:
        parts = diff.share(key) if only is None and clock() < end else None
        if only is not None or (parts is not None and not is_too_large(parts)):
            found = repo.diff(diff.before, diff.after, tables=[key]).tables.get(key)
            tables += [] if found is None else [_change_counts(found)]
        else:
            at_most = None if parts is None else rows_to_compare(parts)
            tables.append({"key": key, "change": _change(diff, key), "at_most": at_most})
    return {"id": commit_id, "tables": tables, "left_out": max(len(differing) - _TABLES, 0)}


def compare_commit(repo: Repository, commit_id: str) -> Diff:
    """Compare a commit with its first parent, or the first commit with the empty graph."""
    before, after = open_both_sides(repo, repo.commit(commit_id))
    return repo.diff(before, after)


def rows_to_compare(parts: Sequence[DiffPart]) -> int:
    """Return how many rows a comparison has to read."""
    return sum(
        each.rows_at_most for each in parts if each.before is not None and each.after is not None
    )


def is_too_large(parts: Sequence[DiffPart]) -> bool:
    """Return whether a comparison would take long."""
    rows = rows_to_compare(parts)
    return rows > _ROWS_AT_MOST or rows * average_row_size(parts) > _BYTES_AT_MOST


def average_row_size(parts: Sequence[DiffPart]) -> int:
    """Return the average size of a row in files, in bytes."""
    most = 0
    for target in {id(t): t for each in parts for t in (each.before, each.after) if t}.values():
        fragments = target.fragments()
        rows = sum(each.rows for each in fragments)
        most = max(most, sum(each.size_bytes for each in fragments) // max(rows, 1))
    return most


def _pin(snapshot: Snapshot, key: str) -> tuple[str, str | None, int] | None:
    entry = snapshot.tables.get(key)
    return None if entry is None else (entry.table_path, entry.table_branch, entry.table_version)


def _change_counts(found: TableDiff) -> JsonObject:
    return {
        "key": found.table_key,
        "change": found.change.value,
        "at_most": None,
        "inserted": found.inserted,
        "updated": found.updated,
        "deleted": found.deleted,
        "added_properties": list(found.added_properties),
        "removed_properties": list(found.removed_properties),
    }


def _change(diff: Diff, key: str) -> str:
    if key not in diff.before.tables:
        return "added"
    return "changed" if key in diff.after.tables else "removed"


_COLUMNS: Final = 40
_ROWS_OF_A_PART: Final = 100_000
_SKIPPED_AT_MOST: Final = 20_000
_LARGE_ROW: Final = 20_000
_WHAT: Final = "page of changed rows"
_KINDS: Final = ("insert", "update", "delete")


def read_changed_rows(
    repo: Repository, commit_id: str, table_key: str, *, kind: str | None, skip: int, limit: int
) -> JsonObject:
    """Return a page of the rows that a commit changed."""
    _check(kind, skip)
    parts = compare_commit(repo, commit_id).share(table_key, rows_of_a_part=_ROWS_OF_A_PART)
    if is_too_large(parts):
        rows = rows_to_compare(parts)
        reason = f"up to {rows:,} rows would have to be compared. Use `omnigraph diff`"
        raise InvalidRequest(what=_WHAT, reason=reason)
    columns = _columns(parts)
    names = columns.names[:_COLUMNS]
    if average_row_size(parts) > _LARGE_ROW:
        names = [name for name in names if name == "id" or _is_small(columns.field(name).type)]
    found = list(islice(_rows(parts, names, kind, skip), limit + 1))
    return {
        "table": table_key,
        "columns": describe_columns(columns, names),
        "left_out": len(columns.names) - len(names),
        "rows": [_row(each, names) for each in found[:limit]],
        "next": skip + limit if len(found) > limit else None,
    }


def _check(kind: str | None, skip: int) -> None:
    if kind is not None and kind not in _KINDS:
        reason = f"expected one of {', '.join(_KINDS)}"
        raise InvalidRequest(what=f"kind {kind[:80]!r}", reason=reason)
    if skip > _SKIPPED_AT_MOST:
        reason = f"the page shows only the first {_SKIPPED_AT_MOST:,}. Use `omnigraph diff` for all"
        raise InvalidRequest(what=_WHAT, reason=reason)


def _columns(parts: Sequence[DiffPart]) -> pa.Schema:
    """Return the columns of both sides, those of the newer side first."""
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
    """Yield rows one by one, as batches of one row; skipped rows are not copied."""
    for part in parts:
        for batch in part.rows(names):
            kinds = batch.column("change")
            wanted = batch if kind is None else batch.filter(pc.equal(kinds, kind))
            passed = min(skip, wanted.num_rows)
            skip -= passed
            for number in range(passed, wanted.num_rows):
                yield wanted.slice(number, 1)


def _row(row: pa.RecordBatch, names: Sequence[str]) -> JsonObject:
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
    return [
        None if (found := _value(structs, name)) is None else format_cells(found)[0]
        for name in names
    ]


def _value(structs: Any, name: str) -> Any:
    """Return a value of a row as an array of length one; None without such a column."""
    index = structs.type.get_field_index(name)
    return None if index < 0 else pc.struct_field(structs, [index])


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are equal; a missing column is null, and NaN equals NaN."""
    if one is None or other is None:
        value = other if one is None else one
        return value is None or not value[0].is_valid
    return one.equals(other) or (_is_nan(one) and _is_nan(other))


def _is_nan(values: Any) -> bool:
    if not pa.types.is_floating(values.type) or not values[0].is_valid:
        return False
    return math.isnan(values[0].as_py())
