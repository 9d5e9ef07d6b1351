"""Rows that other processes change: deleted by their address, and replaced by others.

Invariant: what travels is small whatever the number of rows: the names of files, and, for a row
that keeps its id, a few bytes that its version will name as well. A change holds on every version
in which the fragments that it marks are what they were, and is refused elsewhere. A row that two
parts change raises an error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
from lance import FragmentMetadata, LanceOperation

from omnigraph_l1._dataset.argument_checks import parse_list, require_kind
from omnigraph_l1._dataset.durability import flush_files
from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._lance.lance_failures import translate_errors
from omnigraph_l1._lance.private_hooks import columns_of, row_id_metadata, serialize_row_ids
from omnigraph_l1._read.deletion_vectors import deleted_rows, read_deletions
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._text_encoding import decode_json, encode_json
from omnigraph_l1._write.schema_check import ArrowData
from omnigraph_l1._write.staged_changes import (
    Staged,
    check_origin,
    describe_change,
    refuse_repeated,
    stage_append,
)
from omnigraph_l1.errors import DataProblem, InvalidData, InvalidRequest
from omnigraph_l1.row_addresses import address_of, fragment_of, offset_of

__all__ = [
    "Marked",
    "WrittenChanges",
    "describe_marks",
    "fits",
    "mark_addresses",
    "marked_offsets",
    "marks_of",
    "stage_changed",
    "write_changes",
]

_CHANGE = "change"
_SHOWN = 5


@attrs.frozen(kw_only=True)
class Marked:
    """A fragment out of which rows are taken."""

    fragment: int
    was: str
    """Its files before that."""
    deletions: str | None
    """The file that marks its rows now; None if no row is left."""
    rows: int
    """How many rows are taken out."""


@attrs.frozen(kw_only=True)
class WrittenChanges:
    """What one writer changed, to be sent home."""

    location: str
    branch: str | None
    branch_identity: str | None = attrs.field(default=None, repr=False)
    version: int
    """The version that was changed."""
    columns: str = attrs.field(repr=False)
    """The columns that they were written for, with the numbers by which the files name them."""
    marked: tuple[Marked, ...] = attrs.field(repr=False)
    updated: tuple[str, ...] = attrs.field(repr=False)
    """Fragments of rows that keep their ids."""
    row_ids: tuple[bytes, ...] = attrs.field(repr=False)
    """These ids, for each of the fragments."""
    inserted: tuple[str, ...] = attrs.field(repr=False)
    """Fragments of rows that are new."""
    rows_updated: int
    rows_inserted: int
    rows_deleted: int
    size_bytes: int

    @property
    def updated_files(self) -> frozenset[str]:
        """The data files that hold rows which keep their ids."""
        return _files(self.updated)

    @property
    def inserted_files(self) -> frozenset[str]:
        """The data files that hold rows which are new."""
        return _files(self.inserted)


def write_changes(
    pinned: PinnedDataset,
    *,
    updated: ArrowData,
    row_ids: Sequence[int] | pa.Array,
    inserted: ArrowData,
    addresses: Any,
) -> WrittenChanges:
    """Write files that no reader sees yet: new rows, rows that keep their ids, marks on others.

    ``addresses`` names the rows to be taken out, those that are updated among them. ``row_ids``
    are those of the updated rows, in their order; sorted they take least room.
    """
    pinned.check_not_stale()
    kept = np.asarray(row_ids, np.uint64)
    marks = _by_fragment(pinned, np.asarray(addresses, np.uint64))
    changed, new = stage_append(pinned, updated), stage_append(pinned, inserted)
    if changed.rows_inserted != len(kept) or sum(map(len, marks.values())) < len(kept):
        reason = (
            f"{changed.rows_inserted} rows are updated, with {len(kept)} ids of rows, and "
            f"{sum(map(len, marks.values()))} rows are taken out; each needs one of both"
        )
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    marked = [_mark(pinned, number, places) for number, places in marks.items()]
    flush_files(pinned, changed.new_files())
    flush_files(pinned, new.new_files())
    flush_files(pinned, describe_marks(pinned, marked, []).new_files())
    parts, others = _fragments(changed), _fragments(new)
    return WrittenChanges(
        location=str(pinned.location),
        branch=pinned.branch,
        branch_identity=pinned.branch_identity,
        version=pinned.version,
        columns=changed.columns,
        marked=tuple(marked),
        updated=tuple(encode_json(part.to_json()) for part in parts),
        row_ids=tuple(_sequences(parts, kept)),
        inserted=tuple(encode_json(part.to_json()) for part in others),
        rows_updated=changed.rows_inserted,
        rows_inserted=new.rows_inserted,
        rows_deleted=sum(part.rows for part in marked) - changed.rows_inserted,
        size_bytes=sum(
            file.file_size_bytes or 0 for each in (*parts, *others) for file in each.files
        ),
    )


def fits(pinned: PinnedDataset, written: Iterable[WrittenChanges]) -> bool:
    """Return whether they are of this lineage, and each marked fragment is here as it was then."""
    pinned.guard.check()
    columns = columns_of(pinned.dataset.lance_schema)
    wanted = (str(pinned.location), pinned.branch, pinned.branch_identity, columns)
    with translate_errors(pinned.location):
        return all(
            (part.location, part.branch, part.branch_identity, part.columns) == wanted
            and all(_fragment_state(pinned, each.fragment) == each.was for each in part.marked)
            for part in written
        )


def stage_changed(pinned: PinnedDataset, written: Iterable[WrittenChanges], *, key: str) -> Staged:
    """Take what was changed for this lineage. ``key`` names rows that two parts have changed."""
    location = pinned.location
    parts = [
        require_kind(part, WrittenChanges, location=location)
        for part in parse_list(written, location=location, what="changes")
    ]
    columns = columns_of(pinned.dataset.lance_schema)
    for part in parts:
        check_origin(pinned, part, columns)
    if not fits(pinned, parts):
        reason = (
            "rows in the fragments that were changed have been changed since; "
            f"do it again on version {pinned.version}"
        )
        raise InvalidRequest(location=str(location), reason=reason)
    by_fragment: defaultdict[int, list[tuple[Marked, bool]]] = defaultdict(list)
    for part in parts:
        for each in part.marked:
            by_fragment[each.fragment].append((each, not part.rows_updated))
    marked = [_merge_marks(pinned, each, key) for _, each in sorted(by_fragment.items())]
    updated = sum(part.rows_updated for part in parts)
    kept = [
        _with_row_ids(text, row_ids)
        for part in parts
        for text, row_ids in zip(part.updated, part.row_ids, strict=True)
    ]
    new = [*kept, *(FragmentMetadata.from_json(text) for part in parts for text in part.inserted)]
    refuse_repeated(pinned, new)
    change = describe_marks(pinned, marked, new)
    return attrs.evolve(
        change,
        rows_inserted=sum(part.rows_inserted for part in parts),
        rows_updated=updated,
        rows_deleted=sum(each.rows for each in marked) - updated,
    )


def mark_addresses(pinned: PinnedDataset, addresses: Any) -> list[Marked]:
    """Write the files that mark the rows at these addresses of the pinned version."""
    marks = _by_fragment(pinned, addresses)
    return [_mark(pinned, number, places) for number, places in marks.items()]


def marks_of(pinned: PinnedDataset, change: Staged) -> list[Marked]:
    """Return what a change that was staged on the pinned version takes out."""
    operation: Any = change.operation
    left = {part.id: part for part in operation.updated_fragments}
    gone = getattr(operation, "deleted_fragment_ids", None)
    marked = []
    for number in (*left, *(operation.removed_fragment_ids if gone is None else gone)):
        was, part = _fragment_state(pinned, number), left.get(number)
        before = _fragment(pinned, number).num_rows
        marked.append(
            Marked(
                fragment=number,
                was="" if was is None else was,
                deletions=None if part is None else _deletion_file(part),
                rows=before if part is None else before - part.num_rows,
            )
        )
    return marked


def _by_fragment(pinned: PinnedDataset, addresses: Any) -> dict[int, Any]:
    ordered = np.sort(addresses)
    twice = ordered[1:] == ordered[:-1]
    if twice.any():
        reason = f"the row at address {ordered[1:][twice][0]} is taken out twice"
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    fragments = fragment_of(ordered)
    numbers, starts = np.unique(fragments, return_index=True)
    parts = np.split(offset_of(ordered), starts[1:])
    # Of no address at all, numpy still makes one part.
    return {
        int(number): part.astype(np.uint32) for number, part in zip(numbers, parts, strict=False)
    }


def _mark(pinned: PinnedDataset, number: int, places: Any) -> Marked:
    """Write the file that marks rows of a fragment, those that were marked before among them."""
    with translate_errors(pinned.location):
        fragment = pinned.dataset.get_fragment(number)
        was = _fragment_state(pinned, number)
        remaining = None
        if fragment is not None and was is not None:
            alive = run_watched(pinned.storage, fragment.count_rows)
            if len(places) <= alive and places[-1] < fragment.physical_rows:
                remaining = run_watched(
                    pinned.storage, partial(fragment.delete_rows, places.tolist())
                )
                left = 0 if remaining is None else remaining.num_rows
                if alive - left == len(places):
                    deletions = None if remaining is None else _deletion_file(remaining)
                    return Marked(fragment=number, was=was, deletions=deletions, rows=len(places))
    reason = (
        f"rows are taken out of fragment {number} that version {pinned.version} does not have; "
        "look their addresses up on the version that is changed"
    )
    raise InvalidRequest(location=str(pinned.location), reason=reason)


def _merge_marks(pinned: PinnedDataset, parts: Sequence[tuple[Marked, bool]], key: str) -> Marked:
    """Make one of all that was marked in one fragment. Deleting a row twice does no harm."""
    if len(parts) == 1:
        return parts[0][0]
    number = parts[0][0].fragment
    nothing = [np.zeros(0, np.uint32)]
    deleted, others = (
        np.concatenate(
            nothing + [marked_offsets(pinned, each) for each, only in parts if only is kind]
        )
        for kind in (True, False)
    )
    places = np.sort(np.concatenate([others, np.unique(deleted)]))
    twice = places[1:][places[1:] == places[:-1]]
    if len(twice):
        raise _changed_twice_error(pinned, key, number, twice)
    return _mark(pinned, number, places)


def _changed_twice_error(pinned: PinnedDataset, key: str, number: int, places: Any) -> InvalidData:
    addresses = address_of(number, np.unique(places)[:_SHOWN].astype(np.uint64))
    listed = ",".join(map(str, addresses.tolist()))
    with translate_errors(pinned.location):
        found = run_watched(
            pinned.storage,
            lambda: pinned.dataset.to_table(columns=[key], filter=f"_rowaddr IN ({listed})"),
        )
    shown = ", ".join(map(repr, sorted(found.column(key).to_pylist())))
    problem = DataProblem(key, f"stands more than once with {shown}")
    return InvalidData(location=str(pinned.location), problems=(problem,))


def marked_offsets(pinned: PinnedDataset, marked: Marked) -> Any:
    """Return the offsets that one part has marked, without those that were marked before."""
    before = deleted_rows(pinned, marked.fragment)
    fragment = _fragment(pinned, marked.fragment)
    now: pa.Array | None
    if marked.deletions is None:
        now = pa.array(np.arange(fragment.physical_rows, dtype=np.uint32))
    else:
        file = _with_deletions(fragment, marked.deletions).deletion_file
        now = read_deletions(pinned, marked.fragment, file)
    if before is None or now is None:
        reason = f"the deletions of fragment {marked.fragment} are written in an unknown way"
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    return np.setdiff1d(now.to_numpy(), before.to_numpy())


def _fragment(pinned: PinnedDataset, number: int) -> FragmentMetadata:
    with translate_errors(pinned.location):
        fragment = pinned.dataset.get_fragment(number)
    if fragment is None:
        reason = f"fragment {number} is not in version {pinned.version}"
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    return fragment.metadata


def describe_marks(
    pinned: PinnedDataset,
    marked: Sequence[Marked],
    new: Sequence[FragmentMetadata],
    predicate: str = "rows at given addresses",
) -> Staged:
    """Describe the change that takes marked rows out of the pinned version, and adds fragments."""
    left = [
        _with_deletions(_fragment(pinned, each.fragment), each.deletions)
        for each in marked
        if each.deletions is not None
    ]
    emptied = [each.fragment for each in marked if each.deletions is None]
    operation: Any
    if new:
        operation = LanceOperation.Update(
            removed_fragment_ids=emptied,
            updated_fragments=left,
            new_fragments=list(new),
            update_mode="rewrite_rows",
        )
    else:
        operation = LanceOperation.Delete(left, emptied, predicate)
    return describe_change(pinned, _CHANGE, operation)


def _with_deletions(fragment: FragmentMetadata, deletions: str) -> FragmentMetadata:
    described: Mapping[str, Any] = fragment.to_json()
    return FragmentMetadata.from_json(
        encode_json({**described, "deletion_file": decode_json(deletions)})
    )


def _with_row_ids(text: str, row_ids: bytes) -> FragmentMetadata:
    fragment = FragmentMetadata.from_json(text)
    fragment.row_id_meta = row_id_metadata(row_ids)
    return fragment


def _sequences(parts: Sequence[FragmentMetadata], row_ids: Any) -> Iterator[bytes]:
    """Write down the ids of the rows of each fragment."""
    start = 0
    for part in parts:
        ids = row_ids[start : start + part.physical_rows].tolist()
        yield serialize_row_ids(ids)
        start += part.physical_rows


def _fragment_state(pinned: PinnedDataset, number: int) -> str | None:
    fragment = pinned.dataset.get_fragment(number)
    if fragment is None:
        return None
    file = fragment.metadata.deletion_file
    deletions = None if file is None else [file.read_version, file.id]
    return encode_json([[str(each.path) for each in fragment.metadata.files], deletions])


def _deletion_file(fragment: FragmentMetadata) -> str:
    return encode_json(fragment.to_json()["deletion_file"])


def _fragments(change: Staged) -> list[FragmentMetadata]:
    return list(getattr(change.operation, "fragments", ()))


def _files(fragments: Iterable[str]) -> frozenset[str]:
    return frozenset(str(file["path"]) for text in fragments for file in decode_json(text)["files"])
