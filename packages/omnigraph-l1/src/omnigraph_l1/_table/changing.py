"""Rows that other processes change: taken out by their place, and others put in their stead.

Always: what travels is small whatever the number of rows: the names of files, and, for a row that
keeps its id, a few bytes that its version will name as well. A change holds on every version in
which the fragments that it marks are what they were, and is refused elsewhere. A row that two
parts change is told.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
from lance import FragmentMetadata, LanceOperation
from lance.fragment import RowIdMeta, RowIdSequence

from omnigraph_l1._lance.failures import lance_border
from omnigraph_l1._lance.schemas import columns_of
from omnigraph_l1._table.arguments import checked_kind, checked_list
from omnigraph_l1._table.deletions import deleted_rows, read_deletions
from omnigraph_l1._table.fitting import ArrowData
from omnigraph_l1._table.flushing import flush_staged
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._table.shipping import check_origin
from omnigraph_l1._table.staging import Staged, refuse_repeated, stage_append, staged
from omnigraph_l1.errors import DataProblem, InvalidData, InvalidRequest

__all__ = ["Marked", "WrittenChanges", "fits", "marked_places", "stage_changed", "write_changes"]

_CHANGE = "change"
_FRAGMENT = np.uint64(32)
_OFFSET = np.uint64(0xFFFFFFFF)
_SHOWN = 5


@attrs.frozen(kw_only=True)
class Marked:
    """A fragment out of which rows are taken."""

    fragment: int
    was: str
    """Its files before that."""
    deletions: str | None
    """The file that marks its rows now; None where no row is left."""
    rows: int
    """How many rows are taken out."""


@attrs.frozen(kw_only=True)
class WrittenChanges:
    """What one writer changed, to be sent home."""

    place: str
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
    pinned: Pinned,
    *,
    updated: ArrowData,
    row_ids: Sequence[int] | pa.Array,
    inserted: ArrowData,
    addresses: Any,
) -> WrittenChanges:
    """Write what nobody sees yet: rows that are new, rows that keep their ids, marks on others.

    ``addresses`` names the rows to be taken out, those that are updated among them. ``row_ids``
    are those of the updated rows, in their order; sorted they take least room.
    """
    pinned.refuse_stale()
    kept = np.asarray(row_ids, np.uint64)
    marks = _by_fragment(pinned, np.asarray(addresses, np.uint64))
    changed, new = stage_append(pinned, updated), stage_append(pinned, inserted)
    if changed.rows_inserted != len(kept) or sum(map(len, marks.values())) < len(kept):
        reason = (
            f"{changed.rows_inserted} rows are updated, with {len(kept)} ids of rows, and "
            f"{sum(map(len, marks.values()))} rows are taken out; each needs one of both"
        )
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    marked = [_mark(pinned, number, places) for number, places in marks.items()]
    flush_staged(pinned, changed)
    flush_staged(pinned, new)
    flush_staged(pinned, _as_change(pinned, marked, []))
    parts, others = _fragments(changed), _fragments(new)
    return WrittenChanges(
        place=str(pinned.place),
        branch=pinned.branch,
        branch_identity=pinned.branch_identity,
        version=pinned.version,
        columns=changed.columns,
        marked=tuple(marked),
        updated=tuple(json.dumps(part.to_json()) for part in parts),
        row_ids=tuple(_sequences(parts, kept)),
        inserted=tuple(json.dumps(part.to_json()) for part in others),
        rows_updated=changed.rows_inserted,
        rows_inserted=new.rows_inserted,
        rows_deleted=sum(part.rows for part in marked) - changed.rows_inserted,
        size_bytes=sum(
            file.file_size_bytes or 0 for each in (*parts, *others) for file in each.files
        ),
    )


def fits(pinned: Pinned, written: Iterable[WrittenChanges]) -> bool:
    """Tell whether they are of this lineage, and each marked fragment is here as it was then."""
    pinned.guard.check()
    columns = columns_of(pinned.dataset.lance_schema)
    wanted = (str(pinned.place), pinned.branch, pinned.branch_identity, columns)
    with lance_border(pinned.place):
        return all(
            (part.place, part.branch, part.branch_identity, part.columns) == wanted
            and all(_was(pinned, each.fragment) == each.was for each in part.marked)
            for part in written
        )


def stage_changed(pinned: Pinned, written: Iterable[WrittenChanges], *, key: str) -> Staged:
    """Take what was changed for this lineage. ``key`` names rows that two parts have changed."""
    place = pinned.place
    parts = [
        checked_kind(part, WrittenChanges, place=place)
        for part in checked_list(written, place=place, what="changes that were written")
    ]
    columns = columns_of(pinned.dataset.lance_schema)
    for part in parts:
        check_origin(pinned, part, columns)
    if not fits(pinned, parts):
        reason = (
            "rows beside those that were changed have been changed since; "
            f"do it again on version {pinned.version}"
        )
        raise InvalidRequest(place=str(place), reason=reason)
    by_fragment: defaultdict[int, list[tuple[Marked, bool]]] = defaultdict(list)
    for part in parts:
        for each in part.marked:
            by_fragment[each.fragment].append((each, not part.rows_updated))
    marked = [_together(pinned, each, key) for _, each in sorted(by_fragment.items())]
    updated = sum(part.rows_updated for part in parts)
    kept = [
        _keeping(text, row_ids)
        for part in parts
        for text, row_ids in zip(part.updated, part.row_ids, strict=True)
    ]
    new = [*kept, *(FragmentMetadata.from_json(text) for part in parts for text in part.inserted)]
    refuse_repeated(pinned, new)
    change = _as_change(pinned, marked, new)
    return attrs.evolve(
        change,
        rows_inserted=sum(part.rows_inserted for part in parts),
        rows_updated=updated,
        rows_deleted=sum(each.rows for each in marked) - updated,
    )


def marked_places(pinned: Pinned, written: WrittenChanges) -> Iterator[tuple[int, pa.UInt32Array]]:
    """Give the places of the rows that were taken out, fragment by fragment."""
    for each in written.marked:
        yield each.fragment, pa.array(_places(pinned, each))


def _by_fragment(pinned: Pinned, addresses: Any) -> dict[int, Any]:
    ordered = np.sort(addresses)
    twice = ordered[1:] == ordered[:-1]
    if twice.any():
        reason = f"the row at address {ordered[1:][twice][0]} is taken out twice"
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    fragments = ordered >> _FRAGMENT
    numbers, starts = np.unique(fragments, return_index=True)
    parts = np.split(ordered & _OFFSET, starts[1:])
    # Of no address at all, numpy still makes one part.
    return {
        int(number): part.astype(np.uint32) for number, part in zip(numbers, parts, strict=False)
    }


def _mark(pinned: Pinned, number: int, places: Any) -> Marked:
    """Write the file that marks rows of a fragment, those that were marked before among them."""
    with lance_border(pinned.place):
        fragment = pinned.dataset.get_fragment(number)
        was = _was(pinned, number)
        remaining = None
        if fragment is not None and was is not None:
            alive = fragment.count_rows()
            if len(places) <= alive and places[-1] < fragment.physical_rows:
                remaining = fragment.delete_rows(places.tolist())
                left = 0 if remaining is None else remaining.num_rows
                if alive - left == len(places):
                    deletions = None if remaining is None else _told(remaining)
                    return Marked(fragment=number, was=was, deletions=deletions, rows=len(places))
    reason = (
        f"rows are taken out of fragment {number} that version {pinned.version} does not have; "
        "look their places up on the version that is changed"
    )
    raise InvalidRequest(place=str(pinned.place), reason=reason)


def _together(pinned: Pinned, parts: Sequence[tuple[Marked, bool]], key: str) -> Marked:
    """Make one of all that was marked in one fragment. Deleting a row twice does no harm."""
    if len(parts) == 1:
        return parts[0][0]
    number = parts[0][0].fragment
    nothing = [np.zeros(0, np.uint32)]
    deleted, others = (
        np.concatenate(nothing + [_places(pinned, each) for each, only in parts if only is kind])
        for kind in (True, False)
    )
    places = np.sort(np.concatenate([others, np.unique(deleted)]))
    twice = places[1:][places[1:] == places[:-1]]
    if len(twice):
        raise _changed_twice(pinned, key, number, twice)
    return _mark(pinned, number, places)


def _changed_twice(pinned: Pinned, key: str, number: int, places: Any) -> InvalidData:
    listed = ",".join(str((number << 32) + int(place)) for place in np.unique(places)[:_SHOWN])
    with lance_border(pinned.place):
        found = pinned.dataset.to_table(columns=[key], filter=f"_rowaddr IN ({listed})")
    shown = ", ".join(map(repr, sorted(found.column(key).to_pylist())))
    problem = DataProblem(key, f"stands more than once with {shown}")
    return InvalidData(place=str(pinned.place), problems=(problem,))


def _places(pinned: Pinned, marked: Marked) -> Any:
    """Give the places that one part has marked, without those that were marked before."""
    before = deleted_rows(pinned, marked.fragment)
    fragment = _fragment(pinned, marked.fragment)
    now: pa.Array | None
    if marked.deletions is None:
        now = pa.array(np.arange(fragment.physical_rows, dtype=np.uint32))
    else:
        file = _marking(fragment, marked.deletions).deletion_file
        now = read_deletions(pinned, marked.fragment, file)
    if before is None or now is None:
        reason = f"the deletions of fragment {marked.fragment} are written in an unknown way"
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    return np.setdiff1d(now.to_numpy(), before.to_numpy())


def _fragment(pinned: Pinned, number: int) -> FragmentMetadata:
    with lance_border(pinned.place):
        fragment = pinned.dataset.get_fragment(number)
    if fragment is None:
        reason = f"fragment {number} is not in version {pinned.version}"
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    return fragment.metadata


def _as_change(pinned: Pinned, marked: Sequence[Marked], new: Sequence[FragmentMetadata]) -> Staged:
    left = [
        _marking(_fragment(pinned, each.fragment), each.deletions)
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
        operation = LanceOperation.Delete(left, emptied, "rows at given places")
    return staged(pinned, _CHANGE, operation)


def _marking(fragment: FragmentMetadata, deletions: str) -> FragmentMetadata:
    described: Mapping[str, Any] = fragment.to_json()
    return FragmentMetadata.from_json(
        json.dumps({**described, "deletion_file": json.loads(deletions)})
    )


def _keeping(text: str, row_ids: bytes) -> FragmentMetadata:
    fragment = FragmentMetadata.from_json(text)
    meta: Any = RowIdMeta  # its stub takes what is called here for a method
    fragment.row_id_meta = meta.from_json(json.dumps({"Inline": list(row_ids)}))
    return fragment


def _sequences(parts: Sequence[FragmentMetadata], row_ids: Any) -> Iterator[bytes]:
    """Write down the ids of the rows of each fragment."""
    start = 0
    for part in parts:
        ids = row_ids[start : start + part.physical_rows].tolist()
        yield bytes(json.loads(RowIdSequence(ids).to_inline_metadata().json())["Inline"])
        start += part.physical_rows


def _was(pinned: Pinned, number: int) -> str | None:
    fragment = pinned.dataset.get_fragment(number)
    if fragment is None:
        return None
    file = fragment.metadata.deletion_file
    deletions = None if file is None else [file.read_version, file.id]
    return json.dumps([[str(each.path) for each in fragment.metadata.files], deletions])


def _told(fragment: FragmentMetadata) -> str:
    return json.dumps(fragment.to_json()["deletion_file"])


def _fragments(change: Staged) -> list[FragmentMetadata]:
    return list(getattr(change.operation, "fragments", ()))


def _files(fragments: Iterable[str]) -> frozenset[str]:
    return frozenset(str(file["path"]) for text in fragments for file in json.loads(text)["files"])
