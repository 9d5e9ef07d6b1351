"""Any history of branches that merge each other: a repository beside a plain model of merging."""

from __future__ import annotations

import copy
import tempfile
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, example, given, note, settings
from hypothesis import strategies as st
from sizes import sized

from campaign.graph_model.merge_model import Model, Rows, State, Types
from omnigraph_l2 import UNRESOLVED, EdgeType, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import MergeConflict, MergeConflicts

_BRANCHES = ("main", "one", "two", "three")
ENDS = {"edge:K": ("node:P", "node:P"), "edge:W": ("node:P", "node:C")}
_ARROW = {"int": pa.int32(), "text": pa.string()}
_NODES = tuple("abc")
_EDGES = tuple("xyz")
_START: Types = {
    "node:P": {"v": "int"},
    "node:C": {"v": "int"},
    "edge:K": {"v": "int"},
    "edge:W": {},
}
_TYPES: list[list[tuple[str, dict[str, str] | None]]] = [
    [("edge:W", {})],
    [("edge:K", {"v": "int"})],
    [("edge:W", None), ("node:C", {"v": "int"})],
    [("edge:W", None), ("node:C", {"v": "text"})],
]
_PROPERTIES = [
    ("node:P", "v", "int"),
    ("node:P", "w", "int"),
    ("node:P", "w", "text"),
    ("edge:K", "v", "int"),
    ("edge:K", "w", "text"),
]


def schema_of(types: Types) -> GraphSchema:
    """Give a schema."""
    nodes, edges = [], []
    for key, declared in types.items():
        kind, _, name = key.partition(":")
        properties = {each: _ARROW[type_] for each, type_ in declared.items()}
        if kind == "node":
            nodes.append(NodeType(name, properties))
        else:
            source, target = (end.partition(":")[2] for end in ENDS[key])
            edges.append(EdgeType(name, source, target, properties))
    return GraphSchema(nodes=nodes, edges=edges)


def content(repo: Repository, branch: str) -> tuple[Types, Rows]:
    """Read all of a branch."""
    snapshot = repo.snapshot(branch)
    named = {type_: name for name, type_ in _ARROW.items()}
    types = {
        each.table_key: {name: named[type_] for name, type_ in each.properties.items()}
        for each in snapshot.schema.types
    }
    rows = {
        key: {row["id"]: row for row in snapshot.read(key).to_pylist()} for key in snapshot.tables
    }
    return types, rows


def asked(conflict: MergeConflict) -> Any:
    """Decide about a conflict, somehow."""
    return answered(conflict.kind.value, conflict.row_id, conflict.ours, conflict.theirs)


def answered(kind: str, row_id: str | None, ours: Any, theirs: Any) -> Any:
    """Decide the same for the model."""
    if kind == "orphan_edge" or row_id == "b":
        return None
    if row_id in {"c", "z"}:
        return UNRESOLVED
    return theirs if row_id in {"a", "x"} else ours


class History:
    """A repository and its model, changed in step."""

    def __init__(self, location: str) -> None:
        self.repo = Repository.init(f"{location}/r", schema_of(_START), durability="none")
        self.model = Model(ENDS)
        self.heads: dict[str, str] = {}
        self.turn = 0
        self.record("main", State(copy.deepcopy(_START), {key: {} for key in _START}))

    def record(self, branch: str, state: State, *more: str) -> None:
        """Note a new commit of a branch."""
        self.turn += 1
        commit_id = self.repo.log(branch, limit=1)[0].graph_commit_id
        state.parents = tuple(each for each in (self.heads.get(branch), *more) if each)
        state.age = self.turn
        self.model.commits[commit_id] = state
        self.heads[branch] = commit_id

    def state(self, branch: str) -> State:
        """Give a copy of the head of a branch."""
        return copy.deepcopy(self.model.commits[self.heads[branch]])

    def write(self, branch: str, changes: list[tuple[int, int, int, int]]) -> None:
        """Change rows; what would leave an edge without its nodes takes the edge along."""
        state = self.state(branch)
        for table, row, end, value in changes:
            if state.types:
                key = sorted(state.types)[table % len(state.types)]
                put(state, key, row, end, value)
        for key, ends in ENDS.items():
            kept = state.rows.get(key, {})
            for row_id, row in list(kept.items()):
                if row["src"] not in state.rows[ends[0]] or row["dst"] not in state.rows[ends[1]]:
                    del kept[row_id]
        before = self.model.commits[self.heads[branch]].rows
        with self.repo.transaction(branch) as tx:
            for key, kept in state.rows.items():
                gone = before[key].keys() - kept
                new = [row for row_id, row in kept.items() if before[key].get(row_id) != row]
                if gone:
                    tx.delete(key, ids=sorted(gone))
                if new:
                    tx.upsert(key, new)
        if tx.commit is not None:
            self.record(branch, state)

    def evolve(self, branch: str, what: int) -> None:
        """Drop or add a type or a property."""
        state = self.state(branch)
        if what < len(_TYPES):
            for key, declared in _TYPES[what]:
                toggle_type(state, key, declared)
        else:
            toggle_property(state, *_PROPERTIES[what % len(_PROPERTIES)])
        if any(end not in state.types for key in ENDS if key in state.types for end in ENDS[key]):
            return
        if self.repo.evolve(schema_of(state.types), branch=branch) is not None:
            self.record(branch, state)

    def branch(self, source: str) -> None:
        """Start a branch."""
        name = _BRANCHES[len(self.heads)] if len(self.heads) < len(_BRANCHES) else None
        if name is not None:
            self.repo.branches.create(name, source)
            self.heads[name] = self.heads[source]

    def merge(self, source: str, into: str, how: int) -> None:
        """Merge, and compare."""
        strategy = ("error", "error", "ours", "theirs", asked)[how]
        other, mine = self.heads.get(source, source), self.heads[into]
        expected = self.model.merge(mine, other, answered if callable(strategy) else strategy)
        conflicts: set[Any] = set()
        times = 0
        result = None
        try:
            result = self.repo.branches.merge(source, into, strategy=strategy)
        except MergeConflicts as error:
            found = [(each.table_key, each.row_id, each.kind.value) for each in error.conflicts]
            conflicts = set(found)
            times = len(found)
        is_done = other in self.model.ancestors(mine)
        assert conflicts == (set() if is_done else expected.conflicts)
        assert times == len(conflicts)
        if result is None:
            event("conflicts")
            assert self.repo.log(into, limit=1)[0].graph_commit_id == mine
            return
        event(result.kind.value)
        if result.commit is None:
            shown = self.model.commits[mine]
            assert is_done or (expected.state.types, expected.state.rows) == (
                shown.types,
                shown.rows,
            )
        else:
            assert result.commit.parent_commit_id == mine
            assert result.commit.merged_parent_commit_id == other
            if len(self.model.bases([mine], [other])) > 1:
                event("criss-cross")
            self.record(into, expected.state, other)
        assert self.repo.branches.merge(source, into).kind.value == "already_up_to_date"

    def cross(self, one: str, other: str) -> None:
        """Let two branches merge what the other was before it merged."""
        heads = self.heads[one], self.heads[other]
        self.merge(heads[0], other, 3)
        self.merge(heads[1], one, 2)

    def check(self, branch: str) -> None:
        """Compare a branch with its model."""
        state = self.model.commits[self.heads[branch]]
        assert content(self.repo, branch) == (state.types, state.rows)


def put(state: State, key: str, row: int, end: int, value: int) -> None:
    """Put a row into a state, or take it out."""
    names = _EDGES if key in ENDS else _NODES
    new: dict[str, Any] = {"id": names[row % len(names)]}
    if key in ENDS:
        ends = [sorted(state.rows[node]) for node in ENDS[key]]
        if not all(ends):
            return
        new["src"], new["dst"] = (each[end % len(each)] for each in ends)
    for name, type_ in state.types[key].items():
        new[name] = value if type_ == "int" else f"t{value}"
    state.rows[key].pop(new["id"], None)
    if value:
        state.rows[key][new["id"]] = new


def toggle_type(state: State, key: str, declared: dict[str, str] | None) -> None:
    """Drop a type that is there, or add it, if it is said how."""
    if key in state.types:
        del state.types[key], state.rows[key]
    elif declared is not None:
        state.types[key], state.rows[key] = dict(declared), {}


def toggle_property(state: State, key: str, name: str, type_: str) -> None:
    """Drop a property that is there, or add it."""
    declared = state.types.get(key)
    if declared is None:
        return
    was_there = declared.pop(name, None)
    for row in state.rows[key].values():
        row.pop(name, None)
    if was_there is None:
        declared[name] = type_
        for row in state.rows[key].values():
            row[name] = None


_small = st.integers(0, 2)
_which = st.integers(0, len(_BRANCHES) - 1)
_how = st.integers(0, 4)
_changes = st.lists(st.tuples(st.integers(0, 3), _small, _small, _small), min_size=1, max_size=4)
_steps = st.one_of(
    st.tuples(st.just("write"), _which, _changes),
    st.tuples(st.just("merge"), _which, _which, _how),
    st.tuples(st.just("branch"), _which),
    st.tuples(st.just("evolve"), _which, st.integers(0, 10)),
    # Both sides change the same things before they meet.
    st.tuples(st.just("diverge"), _which, _which, _changes, _changes, _how),
    st.tuples(st.just("diverge"), _which, _which, _changes, st.integers(0, 10), _how),
    # Both merge what the other was, so that what they have in common is two commits.
    st.tuples(st.just("cross"), _which, _which, _changes, _changes, _how),
)


@settings(
    max_examples=max(5, settings().max_examples // sized(20, 2)),  # each is a repository
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@example(  # an edge type that one side dropped and the other changed
    steps=[
        ("evolve", 1, 3),
        ("diverge", 0, 3, [(1, 0, 0, 2)], 0, 2),
        ("diverge", 1, 0, [(0, 0, 0, 0)], [(1, 1, 0, 1)], 0),
    ],
    at_once=1,
)
@example(  # an edge type that "ours" keeps, of whose nodes the other side has removed one
    steps=[
        ("diverge", 0, 0, [(1, 2, 0, 1)], 5, 0),
        ("write", 0, [(2, 1, 0, 2)]),
        ("diverge", 0, 2, [(1, 0, 1, 2)], [], 0),
        ("cross", 1, 0, [], [], 1),
        ("diverge", 3, 3, [], 3, 1),
        ("diverge", 2, 1, [(2, 0, 2, 0)], [], 4),
        ("cross", 1, 3, [], [(1, 1, 1, 0)], 1),
        ("diverge", 3, 2, [], 8, 2),
    ],
    at_once=2,
)
@given(steps=st.lists(_steps, min_size=4, max_size=16), at_once=st.sampled_from([1, 2, 65_536]))
def test_a_repository_follows_the_model(steps: list[Any], at_once: int) -> None:
    """Rows, types, conflicts and parents are those of a plain three-way merge of whole states,
    however many rows are looked at together.
    """
    with tempfile.TemporaryDirectory() as location, pytest.MonkeyPatch.context() as patch:
        patch.setattr("omnigraph_l2._merge.row_merge._AT_ONCE", at_once)
        history = History(location)
        history.write(
            "main", [(0, 0, 0, 1), (1, 1, 0, 1), (2, 0, 0, 1), (3, 0, 0, 1), (3, 1, 0, 1)]
        )
        history.branch("main")
        for step in steps:
            names = list(history.heads)
            which = step[1:3] if step[0] != "evolve" else step[1:2]
            chosen = [names[each % len(names)] for each in which if isinstance(each, int)]
            note(f"{step[0]} {chosen} {step[2:]}")
            if step[0] == "write":
                history.write(chosen[0], step[2])
            elif step[0] == "evolve":
                history.evolve(chosen[0], step[2])
            elif step[0] == "branch":
                history.branch(chosen[0])
            elif step[0] == "merge":
                history.merge(chosen[0], chosen[1], step[3])
            else:
                one, other, mine, theirs, how = *chosen, *step[3:]
                history.write(one, mine)
                if isinstance(theirs, int):
                    history.evolve(other, theirs)
                else:
                    history.write(other, theirs)
                if step[0] == "cross":
                    history.cross(one, other)
                    history.write(one, theirs)
                history.merge(one, other, how)
            for name in names:
                history.check(name)
        history.repo.close()
