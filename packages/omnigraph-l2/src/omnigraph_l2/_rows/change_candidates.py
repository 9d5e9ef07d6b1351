"""Find the rows of two versions of a table that may differ, without reading what is equal.

A data file never changes: rows that both versions have at the same position of the same file are
equal. Of the others, rows with the same row id and last change are equal, see ``row_identity``.
Neither considers columns: if one side lacks a column, rows that are not null in it are candidates
too.

Invariant: a row that is left out has the same values on both sides. An id that is a candidate on
one side is one on the other, if it is there. The cost follows what changed, plus two numbers for
each row of rewritten fragments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1 import Table
from omnigraph_l1.row_addresses import ADDRESS
from omnigraph_l2._rows.addressed_rows import AddressedRows
from omnigraph_l2._rows.row_identity import FACTS, RowIdJoin, facts_of

__all__ = ["ByPlace", "ChangeCandidates", "by_place", "find_candidates", "rows_with"]

_BATCH: Final = 1_048_576
_FEW: Final = 100_000
_AT_ONCE: Final = 8


@attrs.frozen
class ChangeCandidates:
    """The rows of both sides that may differ."""

    before: AddressedRows
    after: AddressedRows

    def __len__(self) -> int:
        return len(self.before) + len(self.after)


@attrs.frozen
class ByPlace:
    """What the file lists of two versions show, before any file is read."""

    known: ChangeCandidates
    """The rows of files that both have, and that one has deleted."""
    gone: tuple[int, ...]
    """The fragments that only the older one has."""
    new: tuple[int, ...]
    """The fragments that only the newer one has."""


def find_candidates(before: Table, after: Table) -> ChangeCandidates:
    """Find the rows that may differ."""
    found = _not_in_the_same_place(before, after)
    if len(found.before) and len(found.after):
        found = _not_the_same_by_row_id(found)
    _add_other_columns(found)
    return found


def rows_with(table: Table, values: pa.Array, column: str = "id") -> AddressedRows:
    """Find rows by their ids, or by their values in another column, in one pass over it."""
    found = AddressedRows(table)
    for batch in table.scan(columns=[column, ADDRESS], batch_size=_BATCH):
        hits = pc.is_in(batch.column(0), value_set=values)
        found.add(batch.column(1).filter(hits).to_numpy())
    return found


def by_place(before: Table, after: Table, *, within: Collection[int] | None = None) -> ByPlace:
    """Leave out the rows that both versions have at the same position of the same file.

    ``within`` are some fragments of the older version; others are then not compared.
    """
    known = ChangeCandidates(AddressedRows(before), AddressedRows(after))
    older, newer = before.fragment_files(), after.fragment_files()
    by_files: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, files in newer.items():
        by_files[files.data].append(number)
    gone: list[int] = []
    both: list[tuple[int, int]] = []
    for number, files in older.items():
        same = by_files.get(files.data)
        other = same.pop(0) if same else None
        if within is not None and number not in within:
            continue
        if other is None:
            gone.append(number)
        elif files.deletions != newer[other].deletions:
            both.append((number, other))
    _add_deleted(known, both)
    new = tuple(chain.from_iterable(by_files.values()))
    return ByPlace(known, tuple(gone), new if within is None else ())


def _not_in_the_same_place(before: Table, after: Table) -> ChangeCandidates:
    found = by_place(before, after)
    found.known.before.add_fragments(found.gone)
    found.known.after.add_fragments(found.new)
    return found.known


def _add_deleted(found: ChangeCandidates, both: Sequence[tuple[int, int]]) -> None:
    """Add the rows of the same files that are deleted on one side only."""
    if not both:
        return
    mine, theirs = ([each[side] for each in both] for side in (0, 1))
    # Reading many small files takes long where each is a request.
    at_once = 1 if found.before.table.location.is_local else min(_AT_ONCE, len(both))
    with ThreadPoolExecutor(at_once) as workers:
        older = workers.map(found.before.table.deleted_rows, mine)
        newer = workers.map(found.after.table.deleted_rows, theirs)
        for (number, other), gone, also_gone in zip(both, older, newer, strict=True):
            if gone is None or also_gone is None:
                found.before.add_fragments([number])
                found.after.add_fragments([other])
            else:
                found.before.add_places(number, _without(also_gone, gone))
                found.after.add_places(other, _without(gone, also_gone))


def _without(places: pa.Array, others: pa.Array) -> pa.Array:
    return places.filter(pc.invert(pc.is_in(places, value_set=others)))


def _not_the_same_by_row_id(found: ChangeCandidates) -> ChangeCandidates:
    before, after = found.before.table, found.after.table
    common = before.common_version(after)
    if common == 0 or not (before.has_row_ids and after.has_row_ids):
        return found
    left = ChangeCandidates(AddressedRows(before), AddressedRows(after))
    with RowIdJoin(len(found)) as join:
        for batch in found.before.batches(FACTS):
            join.add_before(facts_of(batch))
        for batch in found.after.batches(FACTS):
            join.add_after(facts_of(batch))
        for mine, theirs in join.differing(common):
            left.before.add(mine)
            left.after.add(theirs)
    return left


def _add_other_columns(found: ChangeCandidates) -> None:
    """Add the rows of both sides that are not null in a column that the other side lacks."""
    before, after = found.before.table, found.after.table
    mine, theirs = before.columns(), after.columns()
    only = [name for name, column in mine.items() if theirs.get(name) != column]
    others = [name for name, column in theirs.items() if mine.get(name) != column]
    ids = [*_ids_with_any(found.before, only), *_ids_with_any(found.after, others)]
    if sum(map(len, ids)) > _FEW:
        found.before.add_all()
        found.after.add_all()
    elif ids:
        wanted = pc.unique(pa.chunked_array(ids))
        for rows in (found.before, found.after):
            rows.add_rows(rows_with(rows.table, wanted))


def _ids_with_any(known: AddressedRows, columns: Sequence[str]) -> Iterator[pa.Array]:
    """Return the ids of other rows that are not null in a column, perhaps with a few more.

    Rows that got a value after the column was added are known already, because they changed.
    """
    if not columns:
        return
    given = 0
    not_null = " OR ".join(f"`{name}` IS NOT NULL" for name in columns)
    for batch in known.table.scan(columns=["id", ADDRESS], filter=not_null, batch_size=_BATCH):
        others = batch.column(0).filter(pa.array(~known.holds(batch.column(1).to_numpy())))
        given += len(others)
        if len(others):
            yield others
        if given > _FEW:
            return
