"""The rows of two versions of a table that may differ, found without reading what is the same.

Always: what is left out has the same values on both sides; an id that is doubtful on one side is
so on the other, if it is there. It costs what changed, and two numbers for each row of fragments
that were rewritten.

A data file never changes: rows that both versions have at one place of one file are the same. Of
the others, those are that have the same row id and last change, see ``row_ids``. Neither knows of
columns: where one side lacks a column, rows that are not null in it are doubtful too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1 import FragmentFiles, Table
from omnigraph_l2._comparing.row_ids import FACTS, Facts, RowIdJoin, facts_of
from omnigraph_l2._comparing.rows import ADDRESS, Rows

__all__ = ["Doubtful", "doubtful", "rows_with"]

_ROWS_AT_ONCE: Final = 2_000_000
_BATCH: Final = 1_048_576
_FEW: Final = 100_000
_FRAGMENT: Final = np.uint64(32)
_OFFSET: Final = np.uint64(0xFFFFFFFF)


@attrs.frozen
class Doubtful:
    """The rows of both sides that may differ."""

    before: Rows
    after: Rows

    def __len__(self) -> int:
        return len(self.before) + len(self.after)


def doubtful(before: Table, after: Table) -> Doubtful:
    """Find the rows that may differ."""
    found = Doubtful(Rows(before), Rows(after))
    parted = _Parted.of(before.fragment_files(), after.fragment_files())
    counts, others = before.fragments(), after.fragments()
    several = sum(counts[number] for number in parted.before)
    several += sum(others[number] for number in parted.after)
    common = before.common_version(after)
    if not (before.has_row_ids and after.has_row_ids):
        common = 0
    with _joined(RowIdJoin(several), found, common) as join:
        for mine, theirs in _groups(parted.both, counts):
            gone, came = _moved(_facts(before, mine), _facts(after, theirs), mine, theirs)
            join.add_before(gone)
            join.add_after(came)
        for facts in _in_batches(before, parted.before):
            join.add_before(facts)
        for facts in _in_batches(after, parted.after):
            join.add_after(facts)
    _add_other_columns(found)
    return found


def rows_with(table: Table, ids: pa.Array) -> Rows:
    """Find rows by their ids, in one pass over the ids of the table."""
    found = Rows(table)
    for batch in table.scan(columns=["id", ADDRESS], batch_size=_BATCH):
        hits = pc.is_in(batch.column(0), value_set=ids)
        found.add(batch.column(1).filter(hits).to_numpy())
    return found


@attrs.frozen
class _Parted:
    """The fragments that may hold what differs: same files, but other rows deleted; and others."""

    both: tuple[tuple[int, int], ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, before: dict[int, FragmentFiles], after: dict[int, FragmentFiles]) -> _Parted:
        by_files = {files.data: number for number, files in after.items()}
        both, alone = [], []
        for number, files in before.items():
            other = by_files.pop(files.data, None)
            if other is None:
                alone.append(number)
            elif files.deletions != after[other].deletions:
                both.append((number, other))
        return cls(tuple(both), tuple(alone), tuple(by_files.values()))


@contextmanager
def _joined(join: RowIdJoin, found: Doubtful, common: int | None) -> Iterator[RowIdJoin]:
    yield join
    for before, after in join.differing(common):
        found.before.add(before)
        found.after.add(after)


def _groups(
    pairs: Sequence[tuple[int, int]], counts: dict[int, int]
) -> Iterator[tuple[list[int], list[int]]]:
    """Put fragments together, so that few scans read them all."""
    group: list[tuple[int, int]] = []
    held = 0
    for mine, theirs in pairs:
        if held + counts[mine] > _ROWS_AT_ONCE and group:
            yield [each for each, _ in group], [each for _, each in group]
            group, held = [], 0
        group.append((mine, theirs))
        held += counts[mine]
    if group:
        yield [each for each, _ in group], [each for _, each in group]


def _facts(table: Table, fragments: Collection[int]) -> Facts:
    read = list(_in_batches(table, fragments))
    return np.concatenate(read) if read else np.zeros((0, len(FACTS)), dtype=np.uint64)


def _in_batches(table: Table, fragments: Collection[int]) -> Iterator[Facts]:
    if fragments:
        scanned = table.scan(columns=FACTS, fragments=fragments, batch_size=_BATCH)
        yield from (facts_of(batch) for batch in scanned)


def _moved(
    before: Facts, after: Facts, mine: Sequence[int], theirs: Sequence[int]
) -> tuple[Facts, Facts]:
    """Leave out the rows that both have at the same place of the same file."""
    places, others = before[:, 2], after[:, 2]
    if mine != theirs:
        renumbered = np.zeros(max(theirs) + 1, dtype=np.uint64)
        renumbered[list(theirs)] = mine
        others = (renumbered[others >> _FRAGMENT] << _FRAGMENT) | (others & _OFFSET)
    gone = ~np.isin(places, others, assume_unique=True)
    came = ~np.isin(others, places, assume_unique=True)
    return before[gone], after[came]


def _add_other_columns(found: Doubtful) -> None:
    """Add the rows, of both sides, that are not null in a column that the other side lacks."""
    before, after = found.before.table, found.after.table
    mine, theirs = before.columns(), after.columns()
    only = [name for name, column in mine.items() if theirs.get(name) != column]
    others = [name for name, column in theirs.items() if mine.get(name) != column]
    ids = [*_ids_with_any(before, only), *_ids_with_any(after, others)]
    if sum(map(len, ids)) > _FEW:
        found.before.add_all()
        found.after.add_all()
    elif ids:
        wanted = pc.unique(pa.chunked_array(ids))
        for rows in (found.before, found.after):
            rows.add_rows(rows_with(rows.table, wanted))


def _ids_with_any(table: Table, columns: Sequence[str]) -> Iterator[pa.Array]:
    """Give the ids of rows that are not null in one of the columns: all, or a few too many."""
    if not columns:
        return
    given = 0
    not_null = " OR ".join(f"`{name}` IS NOT NULL" for name in columns)
    for batch in table.scan(columns=["id"], filter=not_null):
        yield batch.column(0)
        given += batch.num_rows
        if given > _FEW:
            return
