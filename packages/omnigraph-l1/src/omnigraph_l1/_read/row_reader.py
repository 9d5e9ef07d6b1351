"""Read rows of the pinned version: in batches, at once, or those with some keys.

Invariant: it is that version, whatever others commit. An invalid filter or column raises
before the first batch, or with it; no error of Lance's comes out of the reader. A key means exactly
one value of the column, or is refused: Arrow would round 1.5 to 1 for a column of whole numbers,
and a text is no list of its letters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1._dataset.argument_checks import (
    key_problems,
    parse_count,
    parse_filter,
    parse_list,
)
from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._lance.lance_failures import (
    LanceFailure,
    Symptom,
    recognize_failures,
)
from omnigraph_l1._storage.location import Location
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._text_encoding import is_text, readable
from omnigraph_l1.errors import DataProblem, InvalidData, InvalidFilter, L1Error
from omnigraph_l1.row_addresses import ADDRESS, fragment_of

__all__ = [
    "all_are_literals",
    "column_name",
    "count_matches",
    "find",
    "in_list",
    "key_filters",
    "literal",
    "matches_by_index",
    "parse_keys",
    "read",
    "scan",
]

_BY_INDEX = "ScalarIndexQuery"  # as Lance's plan of a scan names it
_HIDDEN = frozenset(
    {"_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version"}
)


def scan(
    pinned: PinnedDataset,
    *,
    columns: Sequence[str] | None = None,
    filter: str | None = None,  # noqa: A002 - the name that Lance and the API contract use
    batch_size: int | None = None,
    with_row_id: bool = False,
    fragments: Collection[int] | None = None,
    offset: int | None = None,
    limit: int | None = None,
    read_ahead: int | None = None,
    with_row_address: bool = False,
    full_batches: bool = False,
    use_index: bool = True,
) -> pa.RecordBatchReader:
    """Read rows in batches, of all fragments or of those that are named."""
    pinned.guard.check()
    location = pinned.location
    if columns is not None:
        columns = parse_list(columns, location=location, what="columns")
        _check_columns(pinned, columns)
    if filter is not None:
        filter = parse_filter(filter, location=location)  # noqa: A001
    if fragments is not None:
        fragments = parse_list(fragments, location=location, what="fragments")
        if not fragments:
            # Lance takes an empty list for all of them.
            filter, fragments = "false", None  # noqa: A001
    given = {
        "batch_size": batch_size,
        "offset": offset,
        "limit": limit,
        "read_ahead": read_ahead,
    }
    counts: dict[str, Any] = {
        name: parse_count(count, location=location, what=name, absent=True)
        for name, count in given.items()
    }
    try:
        with recognize_failures():
            scanner = pinned.dataset.scanner(
                columns=columns,
                filter=filter,
                with_row_id=with_row_id,
                fragments=_select_fragments(pinned, fragments),
                io_buffer_size=counts.pop("read_ahead"),
                with_row_address=with_row_address,
                strict_batch_size=full_batches,
                use_scalar_index=use_index,
                **counts,
            )
            reader = run_watched(pinned.storage, scanner.to_reader)
    except LanceFailure as failure:
        raise _failed_read(pinned, filter, failure) from failure.cause
    return pa.RecordBatchReader.from_batches(reader.schema, _batches(pinned, filter, reader))


def read(
    pinned: PinnedDataset,
    *,
    columns: Sequence[str] | None = None,
    filter: str | None = None,  # noqa: A002
    with_row_id: bool = False,
    fragments: Collection[int] | None = None,
    offset: int | None = None,
    limit: int | None = None,
) -> pa.Table:
    """Read rows into memory."""
    return scan(
        pinned,
        columns=columns,
        filter=filter,
        with_row_id=with_row_id,
        fragments=fragments,
        offset=offset,
        limit=limit,
    ).read_all()


def find(
    pinned: PinnedDataset,
    key: str,
    values: Iterable[Any],
    *,
    columns: Sequence[str] | None = None,
    fragments: Collection[int] | None = None,
) -> pa.Table:
    """Read the rows whose key is one of these values, through the key's index where it has one."""
    wanted = parse_keys(key, values, pinned.dataset.schema, location=pinned.location)
    filters = key_filters(key, wanted)
    if filters is None:
        return _find_by_looking(pinned, key, wanted, columns, fragments)
    parts = [
        read(pinned, columns=columns, filter=one, fragments=fragments)
        for one in filters or ["false"]
    ]
    return pa.concat_tables(parts) if len(parts) > 1 else parts[0]


def _find_by_looking(
    pinned: PinnedDataset,
    key: str,
    wanted: pa.Array,
    columns: Sequence[str] | None,
    fragments: Collection[int] | None,
) -> pa.Table:
    chosen = list(pinned.dataset.schema.names if columns is None else columns)
    with_key = list(dict.fromkeys([*chosen, key]))
    found = scan(pinned, columns=with_key, fragments=fragments)
    batches = (batch.filter(pc.is_in(batch[key], value_set=wanted)) for batch in found)
    return pa.Table.from_batches(batches, found.schema).select(chosen)


def count_matches(pinned: PinnedDataset, filter: str) -> int:  # noqa: A002
    """Count the rows that match."""
    pinned.guard.check()
    filter = parse_filter(filter, location=pinned.location)  # noqa: A001
    try:
        with recognize_failures():
            return int(run_watched(pinned.storage, lambda: pinned.dataset.count_rows(filter)))
    except LanceFailure as failure:
        raise _failed_read(pinned, filter, failure) from failure.cause


def matches_by_index(pinned: PinnedDataset, filter: str, most: int) -> dict[int, int] | None:  # noqa: A002
    """Count the rows of each fragment that match: None if no index serves it, or of too many."""
    pinned.guard.check()
    filter = parse_filter(filter, location=pinned.location)  # noqa: A001
    try:
        with recognize_failures():
            scanner = pinned.dataset.scanner(columns=[], filter=filter, with_row_address=True)
            served = _BY_INDEX in run_watched(pinned.storage, scanner.explain_plan)
    except LanceFailure as failure:
        raise _failed_read(pinned, filter, failure) from failure.cause
    if not served:
        return None
    limit = most + 1
    found = scan(pinned, columns=[], filter=filter, with_row_address=True, limit=limit).read_all()
    if found.num_rows > most:
        return None
    fragments, counts = np.unique(fragment_of(found[ADDRESS].to_numpy()), return_counts=True)
    return dict(zip(fragments.tolist(), counts.tolist(), strict=True))


def _select_fragments(pinned: PinnedDataset, fragments: Collection[int] | None) -> list[Any] | None:
    if fragments is None:
        return None
    return [part for part in pinned.dataset.get_fragments() if part.fragment_id in fragments]


def _batches(
    pinned: PinnedDataset, predicate: str | None, reader: pa.RecordBatchReader
) -> Iterator[pa.RecordBatch]:
    while True:
        pinned.guard.check()
        try:
            with recognize_failures():
                batch = run_watched(pinned.storage, reader.read_next_batch)
        except StopIteration:
            return
        except LanceFailure as failure:
            raise _failed_read(pinned, predicate, failure) from failure.cause
        yield batch


def _check_columns(pinned: PinnedDataset, columns: Sequence[str]) -> None:
    known = pinned.dataset.schema.names
    problems = [
        DataProblem(readable(name), f"is no column of the table, which has {', '.join(known)}")
        for name in columns
        if not is_text(name) or (name.partition(".")[0] not in known and name not in _HIDDEN)
    ]
    if problems:
        raise InvalidData(location=str(pinned.location), problems=tuple(problems))


def _failed_read(pinned: PinnedDataset, predicate: str | None, failure: LanceFailure) -> L1Error:
    if predicate is not None and failure.symptom is Symptom.BAD_REQUEST:
        return InvalidFilter(location=str(pinned.location), filter=predicate, reason=failure.words)
    return failure.at(pinned.location)


_KEYS_IN_ONE_FILTER = 2000


def parse_keys(
    key: str, values: Iterable[Any], schema: pa.Schema, *, location: Location
) -> pa.Array:
    """Return the values of the key column that are meant, each once."""
    problems = key_problems(key, schema)
    if not problems:
        try:
            return _values(values, schema.field(key).type).unique()
        except (TypeError, ValueError, OverflowError, pa.lib.ArrowException) as error:
            expected = f"is looked for with values that are none of {schema.field(key).type}"
            problems = [DataProblem(key, f"{expected}: {error}")]
    raise InvalidData(location=str(location), problems=tuple(problems))


def key_filters(key: str, wanted: pa.Array) -> list[str] | None:
    """Write filters that match each key once; None if the keys have no literals."""
    values = wanted.to_pylist()
    spelt = pa.types.is_integer(wanted.type) or pa.types.is_string(wanted.type)
    if not spelt or not all_are_literals(values):
        return None
    return [
        in_list(key, values[start : start + _KEYS_IN_ONE_FILTER])
        for start in range(0, len(values), _KEYS_IN_ONE_FILTER)
    ]


def _values(values: Iterable[Any], type_: pa.DataType) -> pa.Array:
    if isinstance(values, (str, bytes, Mapping)):
        msg = f"expected a list of keys, found {type(values).__name__}"
        raise TypeError(msg)
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        values = values.to_pylist()
    given = list(values)
    found = pa.array(given, type_)
    may_round = pa.types.is_integer(type_) or pa.types.is_date(type_)
    if may_round and found.to_pylist() != given:
        msg = "they would be rounded"
        raise ValueError(msg)
    return found


def column_name(name: str) -> str:
    """Quote a column, so that capitals, spaces and keywords mean nothing."""
    return f"`{name}`"


def literal(value: Any) -> str:
    """Write text, a whole number or a truth value as a literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def all_are_literals(values: Iterable[Any]) -> bool:
    """Return whether each value has a literal that means it: text, and whole numbers from 0."""
    return all(isinstance(value, str) or (type(value) is int and value >= 0) for value in values)


def in_list(column: str, values: Iterable[Any]) -> str:
    """Write the predicate that a column has one of these values."""
    return f"{column_name(column)} IN ({', '.join(literal(value) for value in values)})"
