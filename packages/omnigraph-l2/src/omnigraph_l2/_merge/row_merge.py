"""The three-way merge of the rows of one table.

Invariant: only ids that the other side may have changed since the base are read, in portions, so
that memory grows neither with their number nor with the size of rows. A decision about a single row
in conflict, which ``graph_merge`` brings from the strategy, takes precedence over the three-way
rule, ``three_way.merge3``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2._catalog.catalog_state import TableEntry
from omnigraph_l2._errors.merging import MergeConflict, MergeConflictKind
from omnigraph_l2._merge.row_versions import RowVersions
from omnigraph_l2._merge.three_way import (
    ABSENT,
    CLASH,
    Base,
    Numbers,
    leaves,
    merge3,
    resolve_base,
)
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._rows.pinned_reads import changed_ids, rows_at
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import SnapshotExpired

__all__ = ["GIVEN", "Choice", "RowDecisions", "RowMerge", "Side"]

GIVEN: Final = -3
"""The number of a row that the strategy supplied instead of ours and theirs."""
_AT_ONCE, _BYTES_AT_ONCE = 65_536, 64 * 1024 * 1024
_FEWEST = 256

Side: TypeAlias = str
"""``ours`` or ``theirs``."""


@attrs.frozen
class Choice:
    """What was decided about one row: a side's, a row that was given, or that it goes."""

    side: Side | None = None
    given: pa.Table | None = None

    @property
    def is_removal(self) -> bool:
        """Whether the row goes."""
        return self.side is None and self.given is None


@attrs.frozen(kw_only=True)
class RowDecisions:
    """Some rows, and what was decided about each."""

    look: RowVersions
    base: Numbers
    ours: Numbers
    theirs: Numbers
    ruled: Numbers
    """What the rule says."""
    chosen: Numbers
    """What was decided: by the rule, unless there is a decision about the row."""

    @property
    def ids(self) -> pa.Array:
        """The ids."""
        return self.look.ids


@attrs.define(eq=False, kw_only=True)
class RowMerge:
    """The merge of the rows of one table."""

    root: RepositoryRoot
    table_key: str
    columns: pa.Schema
    """What the merged table has."""
    base: Base
    entry_of: Callable[[str], TableEntry | None]
    """Return the table as a commit has it."""
    ours: TableEntry | None
    theirs: TableEntry | None
    favour: Side | None
    choices: dict[str, Choice] = attrs.field(factory=dict)
    _candidates: IdSet | None = None
    _held: list[RowDecisions] | None = None
    """All candidates by the rule alone, where they are few."""
    _at_once: int = 0
    """How many of them may be looked at together."""

    def batches(self) -> Iterator[RowDecisions]:
        """Return the rows that the other side may have changed, or that were decided about."""
        if self._held is None:
            if self._candidates is None:
                self._candidates = self.changed_ids(self.theirs)
                self._at_once = self._portion_size(self._candidates)
            if len(self._candidates) > self._at_once:
                for ids in self._candidates.batches(self._at_once):
                    yield self._decide(self._apply_rule(ids))
                yield from self._decided_alone(self._candidates)
                return
            self._held = [self._apply_rule(ids) for ids in self._candidates.batches(self._at_once)]
        known = [rows.ids for rows in self._held]
        for rows in self._held:
            yield self._decide(rows)
        yield from self._others(pa.chunked_array(known, pa.string()))

    def at(self, ids: pa.Array) -> RowDecisions:
        """Decide about any rows."""
        return self._decide(self._apply_rule(ids))

    def changed_ids(self, side: TableEntry | None) -> IdSet:
        """Return the ids of all rows that may not be on a side what they are in the base."""
        named = leaves(self.base)
        others = (
            [self.entry_of(each) for each in named]
            if named
            else [self.ours if side is self.theirs else self.theirs]
        )
        found = IdSet()
        for other in dict.fromkeys(others):
            if other != side:
                with changed_ids(self.root, other, side) as ids:
                    for batch in ids.batches(_AT_ONCE):
                        found.add(batch)
        return found

    def portions(self, ids: IdSet) -> Iterator[pa.StringArray]:
        """Return ids, so many at a time that their rows can be held."""
        return ids.batches(self._portion_size(ids))

    def differs(self, side: TableEntry | None) -> bool:
        """Return whether a side has any row that is not what it is in the base."""
        with self.changed_ids(side) as ids:
            for batch in self.portions(ids):
                look = RowVersions(self.root, batch, self.columns)
                if (self._base(look) != look.numbers(side)).any():
                    return True
        return False

    def is_as_theirs(self) -> bool:
        """Return whether the merged table has just the rows of the other side."""
        if self.choices:
            return False
        named = leaves(self.base)
        only_theirs = bool(named) and all(self.entry_of(each) == self.ours for each in named)
        return self.ours == self.theirs or only_theirs

    def conflicts(self) -> Iterator[MergeConflict]:
        """Return each row for which the rule has no answer, unless it was decided about."""
        for rows in self.batches():
            for position in np.flatnonzero(rows.ruled == CLASH).tolist():
                if rows.ids[position].as_py() not in self.choices:
                    yield self.conflict(rows, position, _kind(rows, position))

    def conflict(
        self, rows: RowDecisions, position: int, kind: MergeConflictKind, detail: str = ""
    ) -> MergeConflict:
        """Describe a conflict."""
        ours, theirs, base = (
            rows.look.row(numbers, position) for numbers in (rows.ours, rows.theirs, rows.base)
        )
        return MergeConflict(
            table_key=self.table_key,
            row_id=rows.ids[position].as_py(),
            kind=kind,
            ours=ours,
            theirs=theirs,
            base=base,
            detail=detail,
        )

    def removed_ids(self) -> Iterator[pa.Array]:
        """Return the ids of the rows that the target loses."""
        for rows in self.batches():
            gone = (rows.chosen == ABSENT) & (rows.ours != ABSENT)
            if gone.any():
                yield rows.ids.filter(pa.array(gone))

    def take_rows(self, rows: RowDecisions) -> pa.Table:
        """Return the rows that the target gets, new or instead of its own."""
        news = np.where(rows.chosen == rows.ours, ABSENT, rows.chosen)
        parts = [rows.look.rows(news)]
        for position in np.flatnonzero(rows.chosen == GIVEN).tolist():
            given = self.choices[rows.ids[position].as_py()].given
            if given is not None:
                parts.append(given)
        return pa.concat_tables(parts)

    def choose(self, row_id: str, choice: Choice) -> bool:
        """Decide about a row; return whether that changes the decision."""
        if self.choices.get(row_id) == choice:
            return False
        self.choices[row_id] = choice
        return True

    def close(self) -> None:
        """Release temporary files."""
        if self._candidates is not None:
            self._candidates.close()

    def _portion_size(self, ids: IdSet) -> int:
        """Return how many rows are read together: fewer if the first ones are large."""
        if len(ids) > _FEWEST:
            few = next(ids.batches(_FEWEST))
            for side in (self.theirs, self.ours):
                rows = rows_at(self.root, side, few)
                if rows.num_rows:
                    fit: int = _BYTES_AT_ONCE * rows.num_rows // rows.nbytes
                    return max(_FEWEST, min(_AT_ONCE, fit))
        return _AT_ONCE

    def _base(self, look: RowVersions) -> Numbers:
        def value(commit_id: str) -> Numbers:
            return look.numbers(self.entry_of(commit_id))

        def below(commit_id: str) -> Numbers:
            try:
                return value(commit_id)
            except SnapshotExpired:
                return np.full(len(look.ids), CLASH, np.int32)

        return resolve_base(self.base, value, len(look.ids), below)

    def _apply_rule(self, ids: pa.Array) -> RowDecisions:
        look = RowVersions(self.root, ids, self.columns)
        ours, theirs = look.numbers(self.ours), look.numbers(self.theirs)
        base = self._base(look)
        ruled = merge3(base, ours, theirs)
        return RowDecisions(
            look=look, base=base, ours=ours, theirs=theirs, ruled=ruled, chosen=ruled
        )

    def _decide(self, rows: RowDecisions) -> RowDecisions:
        chosen = rows.ruled
        if self.favour is not None:
            favoured = rows.ours if self.favour == "ours" else rows.theirs
            chosen = np.where(chosen == CLASH, favoured, chosen)
        if self.choices:
            chosen = chosen.copy()
            named = pc.is_in(rows.ids, value_set=pa.array(self.choices, pa.string()))
            for position in np.flatnonzero(named.to_numpy(zero_copy_only=False)).tolist():
                choice = self.choices[rows.ids[position].as_py()]
                if choice.given is not None:
                    chosen[position] = GIVEN
                elif choice.is_removal:
                    chosen[position] = ABSENT
                else:
                    side = rows.ours if choice.side == "ours" else rows.theirs
                    chosen[position] = side[position]
        return attrs.evolve(rows, chosen=chosen)

    def _decided_alone(self, candidates: IdSet) -> Iterator[RowDecisions]:
        """Return the rows that were decided about and are no candidates, where those are many."""
        left = pa.array(self.choices, pa.string())
        for ids in candidates.batches(self._at_once):
            if len(left):
                left = left.filter(pc.invert(pc.is_in(left, value_set=ids)))
        if len(left):
            yield self.at(left)

    def _others(self, known: pa.ChunkedArray) -> Iterator[RowDecisions]:
        chosen = pa.array(self.choices, pa.string())
        left = chosen.filter(pc.invert(pc.is_in(chosen, value_set=known)))
        if len(left):
            yield self.at(left)


def _kind(rows: RowDecisions, position: int) -> MergeConflictKind:
    base, ours, theirs = (int(each[position]) for each in (rows.base, rows.ours, rows.theirs))
    if ABSENT in {ours, theirs}:
        return MergeConflictKind.DELETE_VS_UPDATE
    if base == ABSENT:
        return MergeConflictKind.DIVERGENT_INSERT
    return MergeConflictKind.DIVERGENT_UPDATE
