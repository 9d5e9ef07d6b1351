"""Reading rows of the pinned version, in batches or at once.

Always: it is that version, whatever others commit. A filter or a column that does not fit is told
before the first batch, or with it; no error of Lance's comes out of the reader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1._lance.failures import LanceFailure, Symptom, lance_border, lance_calls
from omnigraph_l1._lance.schemas import columns_of
from omnigraph_l1._table.arguments import checked_count, checked_filter, checked_list
from omnigraph_l1._table.keys import checked_keys, key_filters
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._text import is_text, readable
from omnigraph_l1.errors import DataProblem, InvalidData, InvalidFilter, L1Error

__all__ = [
    "FragmentFiles",
    "config",
    "count",
    "find",
    "fragment_rows",
    "matches_by_index",
    "read",
    "same_columns",
    "scan",
]

_BY_INDEX = "ScalarIndexQuery"  # as Lance's plan of a scan names it
_HIDDEN = frozenset(
    {"_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version"}
)


def scan(
    pinned: Pinned,
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
    place = pinned.place
    if columns is not None:
        columns = checked_list(columns, place=place, what="columns")
        _check_columns(pinned, columns)
    if filter is not None:
        filter = checked_filter(filter, place=place)  # noqa: A001
    if fragments is not None:
        fragments = checked_list(fragments, place=place, what="fragments")
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
        name: checked_count(count, place=place, what=name, absent=True)
        for name, count in given.items()
    }
    try:
        with lance_calls():
            reader = pinned.dataset.scanner(
                columns=columns,
                filter=filter,
                with_row_id=with_row_id,
                fragments=_chosen(pinned, fragments),
                io_buffer_size=counts.pop("read_ahead"),
                with_row_address=with_row_address,
                strict_batch_size=full_batches,
                use_scalar_index=use_index,
                **counts,
            ).to_reader()
    except LanceFailure as failure:
        raise _failed_read(pinned, filter, failure) from failure.cause
    return pa.RecordBatchReader.from_batches(reader.schema, _batches(pinned, filter, reader))


def read(
    pinned: Pinned,
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


def same_columns(pinned: Pinned, other: Pinned) -> bool:
    """Compare columns, with the numbers by which data files name them."""
    return columns_of(pinned.dataset.lance_schema) == columns_of(other.dataset.lance_schema)


def config(pinned: Pinned) -> Mapping[str, str]:
    """Give the settings of the dataset that the version records."""
    pinned.guard.check()
    with lance_border(pinned.place):
        return MappingProxyType(dict(pinned.dataset.config()))


def fragment_rows(pinned: Pinned) -> dict[int, int]:
    """Count the rows of each fragment, by its number: from metadata alone."""
    pinned.guard.check()
    with lance_border(pinned.place):
        return {f.fragment_id: f.metadata.num_rows for f in pinned.dataset.get_fragments()}


def find(
    pinned: Pinned,
    key: str,
    values: Iterable[Any],
    *,
    columns: Sequence[str] | None = None,
    fragments: Collection[int] | None = None,
) -> pa.Table:
    """Read the rows whose key is one of these values, through the key's index where it has one."""
    wanted = checked_keys(key, values, pinned.dataset.schema, place=pinned.place)
    filters = key_filters(key, wanted)
    if filters is None:
        return _find_by_looking(pinned, key, wanted, columns, fragments)
    parts = [
        read(pinned, columns=columns, filter=one, fragments=fragments)
        for one in filters or ["false"]
    ]
    return pa.concat_tables(parts) if len(parts) > 1 else parts[0]


def _find_by_looking(
    pinned: Pinned,
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


def count(pinned: Pinned, filter: str | None = None) -> int:  # noqa: A002
    """Count rows: from metadata alone where there is no filter."""
    pinned.guard.check()
    if filter is not None:
        filter = checked_filter(filter, place=pinned.place)  # noqa: A001
    try:
        with lance_calls():
            return int(pinned.dataset.count_rows(filter))
    except LanceFailure as failure:
        raise _failed_read(pinned, filter, failure) from failure.cause


def matches_by_index(pinned: Pinned, filter: str, most: int) -> dict[int, int] | None:  # noqa: A002
    """Count the rows of each fragment that match: None where no index serves it, or of too many."""
    pinned.guard.check()
    filter = checked_filter(filter, place=pinned.place)  # noqa: A001
    try:
        with lance_calls():
            scanner = pinned.dataset.scanner(columns=[], filter=filter, with_row_address=True)
            served = _BY_INDEX in scanner.explain_plan()
    except LanceFailure as failure:
        raise _failed_read(pinned, filter, failure) from failure.cause
    if not served:
        return None
    limit = most + 1
    found = scan(pinned, columns=[], filter=filter, with_row_address=True, limit=limit).read_all()
    if found.num_rows > most:
        return None
    fragments = pc.shift_right(found["_rowaddr"], pa.scalar(32, pa.uint64()))
    counted = fragments.value_counts().to_pylist()
    return {each["values"]: each["counts"] for each in counted}


@attrs.frozen
class FragmentFiles:
    """The files of one fragment. A file never changes; rows are taken out of it by marking them."""

    data: tuple[str, ...]
    deletions: str | None
    """What marks rows as deleted; None where all rows are there."""
    size_bytes: int = attrs.field(default=0, eq=False)
    """How large the data files are, as far as the version says so."""

    @property
    def has_deletions(self) -> bool:
        """Whether rows are marked as deleted."""
        return self.deletions is not None


def fragment_files(pinned: Pinned) -> dict[int, FragmentFiles]:
    """Name the files of each fragment, by its number: from metadata alone."""
    pinned.guard.check()
    with lance_border(pinned.place):
        return {
            f.fragment_id: FragmentFiles(
                # Lance gives each path a class of its own, which takes kilobytes to keep.
                tuple(str(file.path) for file in f.metadata.files),
                _deletions(f.metadata.deletion_file),
                sum(file.file_size_bytes or 0 for file in f.metadata.files),
            )
            for f in pinned.dataset.get_fragments()
        }


def _deletions(file: Any | None) -> str | None:
    return None if file is None else f"{file.read_version}-{file.id}"


def _chosen(pinned: Pinned, fragments: Collection[int] | None) -> list[Any] | None:
    if fragments is None:
        return None
    return [part for part in pinned.dataset.get_fragments() if part.fragment_id in fragments]


def _batches(
    pinned: Pinned, predicate: str | None, reader: pa.RecordBatchReader
) -> Iterator[pa.RecordBatch]:
    while True:
        pinned.guard.check()
        try:
            with lance_calls():
                batch = reader.read_next_batch()
        except StopIteration:
            return
        except LanceFailure as failure:
            raise _failed_read(pinned, predicate, failure) from failure.cause
        yield batch


def _check_columns(pinned: Pinned, columns: Sequence[str]) -> None:
    known = pinned.dataset.schema.names
    problems = [
        DataProblem(readable(name), f"is no column of the table, which has {', '.join(known)}")
        for name in columns
        if not is_text(name) or (name.partition(".")[0] not in known and name not in _HIDDEN)
    ]
    if problems:
        raise InvalidData(place=str(pinned.place), problems=tuple(problems))


def _failed_read(pinned: Pinned, predicate: str | None, failure: LanceFailure) -> L1Error:
    if predicate is not None and failure.symptom is Symptom.BAD_REQUEST:
        return InvalidFilter(place=str(pinned.place), filter=predicate, reason=failure.words)
    return failure.at(pinned.place)
