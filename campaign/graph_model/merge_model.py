"""What merging means, said once more over whole states held in memory: slow, and plain.

Invariant: a merge is decided from the states of commits alone, one value after the other. It shares
no code with what it is compared with.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from omnigraph_l2 import UNRESOLVED

__all__ = ["Ends", "Model", "Outcome", "Row", "Rows", "State", "Types"]

_CLASH: Final = object()
_ROUNDS: Final = 10

Types: TypeAlias = dict[str, dict[str, str]]
"""The properties of each type: what stands for their Arrow types, by name."""
Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = dict[str, dict[str, Row]]
"""The rows of each table, by id."""
Ends: TypeAlias = Mapping[str, tuple[str, str]]
"""The node tables that each edge table names in ``src`` and ``dst``."""


@attrs.define
class State:
    """A commit: what it shows, and what it comes from."""

    types: Types
    rows: Rows
    parents: tuple[str, ...] = ()
    age: int = 0


@attrs.define
class Outcome:
    """What a merge gives: a state, or conflicts as (table, row, kind)."""

    state: State
    conflicts: set[tuple[str, str | None, str]]


class Model:
    """All commits there ever were, by id."""

    def __init__(self, ends: Ends) -> None:
        """Begin with none. ``ends`` tells between which node tables the edges go."""
        self.ends = ends
        self.commits: dict[str, State] = {}
        self.gone: set[str] = set()
        """Those of branches that were deleted: nobody knows what they have shown."""

    def line(self, commit_id: str) -> list[str]:
        """Give a commit and what was before it on its branch, newest first."""
        found = [commit_id]
        while parents := self.commits[found[-1]].parents:
            found.append(parents[0])
        return found

    def ancestors(self, commit_id: str) -> set[str]:
        """Give a commit and all that it comes from."""
        found, todo = set(), [commit_id]
        while todo:
            each = todo.pop()
            if each not in found:
                found.add(each)
                todo += self.commits[each].parents
        return found

    def bases(self, ours: list[str], theirs: list[str]) -> list[str]:
        """Give the best common ancestors, newest first; none where one of them is gone."""
        one, other = (set().union(*map(self.ancestors, tips)) for tips in (ours, theirs))
        common = one & other
        below = set().union(*(self.ancestors(each) - {each} for each in common))
        best = common - below
        if best & self.gone:
            return []
        return sorted(best, key=lambda each: -self.commits[each].age)

    def value(self, tips: list[str], read: Callable[[State], Any]) -> Any:
        """Give a value in the merge of some commits."""
        if not tips:
            return _CLASH
        if len(tips) == 1:
            return read(self.commits[tips[0]])
        *left, last = tips
        mine, other = self.value(left, read), read(self.commits[last])
        if mine is not _CLASH and mine == other:
            return mine
        return _settle(self.value(self.bases(left, [last]), read), mine, other)

    def merge(self, ours: str, theirs: str, strategy: Any) -> Outcome:
        """Merge one commit into another. A function is asked with kind, id and both rows."""
        return self.three_way(self.bases([ours], [theirs]), ours, theirs, strategy)

    def three_way(self, base: list[str], ours: str, theirs: str, strategy: Any) -> Outcome:
        """Merge by the rule, types first."""
        work = _Work(self, base, self.commits[ours], self.commits[theirs], strategy)
        work.settle_types()
        work.keep_ends_together()
        work.settle_rows()
        while work.settle_dangling():
            pass
        if strategy in {"ours", "theirs"}:
            work.conflicts.clear()
        return Outcome(State(work.types, work.rows), work.conflicts)

    def all_ids(self, commits: list[str], key: str) -> set[str]:
        """Name all rows that a table ever had."""
        every = set().union(*map(self.ancestors, commits))
        return {row_id for each in every for row_id in self.commits[each].rows.get(key, ())}


@attrs.define
class _Work:
    """One merge, on its way."""

    model: Model
    base: list[str]
    mine: State
    other: State
    strategy: Any
    took: dict[str, str] = attrs.field(factory=dict)
    """For each type: whose it is, or ``rows`` where the rows of both are merged."""
    types: Types = attrs.field(factory=dict)
    rows: Rows = attrs.field(factory=dict)
    conflicts: set[tuple[str, str | None, str]] = attrs.field(factory=set)
    unsure: set[tuple[str, str]] = attrs.field(factory=set)

    def settle_types(self) -> None:
        """Decide what becomes of each type."""
        for key in sorted({*self.mine.types, *self.other.types}):
            fate = self.fate(key)
            if fate in ("drop_vs_change", "divergent_schema"):
                self.conflicts.add((key, None, fate))
                fate = "theirs" if self.strategy == "theirs" else "ours"
            self.took[key] = fate if isinstance(fate, str) else "rows"
            if not isinstance(fate, str):
                self.types[key] = fate

    def keep_ends_together(self) -> None:
        """Let no edge type be without its node types."""
        for _ in range(_ROUNDS):
            for edge, ends in self.model.ends.items():
                for node in set(ends):
                    if self.has(edge) and not self.has(node):
                        self.conflicts.add((node, None, "drop_vs_change"))
                        if self.strategy in ("ours", "theirs"):
                            self.took[edge] = self.took[node] = self.strategy
        for key, fate in self.took.items():
            if fate != "rows":
                self.take(key, fate)

    def has(self, key: str) -> bool:
        """Tell whether a type is there in the end."""
        took = self.took.get(key, "ours")
        return took == "rows" or key in (self.mine if took == "ours" else self.other).types

    def take(self, key: str, side: str) -> None:
        """Let a type be what it is on one side."""
        state = self.mine if side == "ours" else self.other
        self.took[key] = side
        self.types.pop(key, None)
        self.rows.pop(key, None)
        if key in state.types:
            self.types[key] = dict(state.types[key])
            self.rows[key] = copy.deepcopy(state.rows[key])

    def settle_rows(self) -> None:
        """Merge the rows of the types that both have."""
        for key in [each for each, took in self.took.items() if took == "rows"]:
            self.rows[key] = {}
            known = {*self.mine.rows[key], *self.other.rows[key]}
            for row_id in known | self.model.all_ids(self.base, key):
                chosen = self.settle_row(key, row_id)
                if chosen is UNRESOLVED:
                    self.unsure.add((key, row_id))
                elif chosen is not None:
                    self.rows[key][row_id] = chosen

    def settle_row(self, key: str, row_id: str) -> Any:
        """Merge one row."""
        before, a, b = self.sides(key, row_id, self.types[key])
        chosen = _settle(before, a, b)
        if chosen is not _CLASH:
            return chosen
        kind = "divergent_insert" if before is None else "divergent_update"
        if a is None or b is None:
            kind = "delete_vs_update"
        if callable(self.strategy):
            chosen = self.strategy(kind, row_id, a, b)
        else:
            chosen = {"ours": a, "theirs": b, "error": UNRESOLVED}[self.strategy]
        if chosen is UNRESOLVED:
            self.conflicts.add((key, row_id, kind))
        return chosen

    def sides(self, key: str, row_id: str, columns: dict[str, str]) -> tuple[Any, Any, Any]:
        """Give a row as the base, ours and theirs have it."""

        def read(state: State) -> Any:
            return _row_of(state, key, row_id, columns)

        return self.model.value(self.base, read), read(self.mine), read(self.other)

    def settle_dangling(self) -> bool:
        """Settle edges that have lost a node; tell whether anything moved."""
        moved = False
        for edge, ends in self.model.ends.items():
            if self.is_undecided(edge):
                continue
            for row_id, row in sorted(self.rows.get(edge, {}).items()):
                for column, node in zip(("src", "dst"), ends, strict=True):
                    end = row[column]
                    if end not in self.rows.get(node, {}) and (node, end) not in self.unsure:
                        moved |= self.settle_edge(edge, row_id, node, end)
        return moved

    def is_undecided(self, edge: str) -> bool:
        """Return whether a type is a conflict itself, so that its rows are not merged."""
        clashes = any(key == edge and named is None for key, named, _ in self.conflicts)
        return clashes and self.strategy not in ("ours", "theirs")

    def settle_edge(self, edge: str, row_id: str, node: str, end: str) -> bool:
        """Settle one of them."""
        if callable(self.strategy) and self.took.get(edge, "ours") != "theirs":
            return self.rows[edge].pop(row_id, None) is not None
        if callable(self.strategy) or self.strategy == "error":
            self.conflicts.add((edge, row_id, "orphan_edge"))
            return False
        return self.give(edge, row_id) | self.give(node, end)

    def give(self, key: str, row_id: str) -> bool:
        """Let a row be what it is on the side that wins, or the whole type."""
        took = self.took.get(key, "ours")
        if took not in ("rows", "ours", self.strategy):
            self.take(key, self.strategy)
            return True
        side = self.mine if self.strategy == "ours" else self.other
        row = _row_of(side, key, row_id, self.types.get(key, {}))
        if key not in self.rows or self.rows[key].get(row_id) == row:
            return False
        if row is None:
            del self.rows[key][row_id]
        else:
            self.rows[key][row_id] = row
        return True

    def changed(self, key: str, side: State) -> bool:
        """Tell whether a side has other rows than the base."""
        ids = {*side.rows[key], *self.model.all_ids(self.base, key)}
        columns = side.types[key]
        return any(
            self.sides(key, row_id, columns)[0] != _row_of(side, key, row_id, columns)
            for row_id in ids
        )

    def fate(self, key: str) -> Any:
        """Tell what becomes of a type: a side, the merged properties, or a conflict."""
        a, b = self.mine.types.get(key), self.other.types.get(key)
        before = self.model.value(self.base, lambda state: state.types.get(key))
        if a is not None and b is not None:
            merged = _properties(before, a, b)
            return "divergent_schema" if merged is None else merged
        if before is None:
            return "ours" if b is None else "theirs"
        left, side = (a, self.mine) if b is None else (b, self.other)
        if left is None:
            return "ours"
        if before != left or self.changed(key, side):
            return "drop_vs_change"
        return "theirs" if b is None else "ours"


def _properties(base: Any, ours: dict[str, str], theirs: dict[str, str]) -> dict[str, str] | None:
    """Merge the properties of a type, or give None."""
    whole = _settle(base, ours, theirs)
    if whole is not _CLASH:
        return dict(whole)
    if base is _CLASH or base is None:
        return None
    each = {
        name: _settle(base.get(name), ours.get(name), theirs.get(name))
        for name in {*ours, *theirs, *base}
    }
    if _CLASH in each.values():
        return None
    return {name: type_ for name, type_ in each.items() if type_ is not None}


def _settle(base: Any, ours: Any, theirs: Any) -> Any:
    """Apply the rule to one value."""
    if ours is not _CLASH and ours == theirs:
        return ours
    if base is not _CLASH and base == theirs:
        return ours
    if base is not _CLASH and base == ours:
        return theirs
    return _CLASH


def _row_of(state: State, key: str, row_id: str, columns: dict[str, str]) -> Any:
    """Give a row in the columns of a merged table; None where it is not there."""
    row = state.rows.get(key, {}).get(row_id)
    if row is None:
        return None
    fixed = ("id", "src", "dst") if key.startswith("edge:") else ("id",)
    has = state.types[key]
    return {name: row[name] for name in fixed} | {
        name: row[name] if has.get(name) == type_ else None for name, type_ in columns.items()
    }
