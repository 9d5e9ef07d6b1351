"""The graph of the state machine: its types, what may be done to a state, what differs. Pure.

Invariant: a state is plain dictionaries, and nothing here asks a repository how it decides.
"""

from __future__ import annotations

import copy
from typing import Any, Final, TypeAlias

import pyarrow as pa

from campaign.graph_model.merge_model import Ends, Row, Rows, State, Types
from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Snapshot

__all__ = [
    "ENDS",
    "KEYS",
    "START",
    "Difference",
    "content",
    "differing",
    "emptied",
    "is_whole",
    "put",
    "schema_of",
    "toggle",
    "touched",
]

ENDS: Final[Ends] = {"edge:K": ("node:P", "node:P"), "edge:W": ("node:P", "node:C")}
START: Final[Types] = {
    "node:P": {"v": "int", "u": "text"},
    "node:C": {"v": "int"},
    "edge:K": {"v": "int"},
    "edge:W": {},
}
KEYS: Final = tuple(START)
_UNIQUE: Final = {"node:P": "u"}
_ARROW: Final = {"int": pa.int32(), "text": pa.string()}
_IDS: Final = {"node": ("a", "b", "c", "d"), "edge": ("x", "y", "z")}
_TOGGLES: Final[list[list[tuple[str, str | None, Any]]]] = [
    [("edge:W", None, {})],
    [("edge:K", None, {"v": "int"})],
    [("edge:W", None, None), ("node:C", None, {"v": "int"})],
    [("edge:W", None, None), ("node:C", None, {"v": "text"})],
    [("node:P", "v", "int")],
    [("node:P", "w", "int")],
    [("node:P", "w", "text")],
    [("node:P", "u", "text")],
    [("edge:K", "v", "int")],
    [("edge:K", "w", "text")],
]

Difference: TypeAlias = tuple[str, frozenset[str], frozenset[str], dict[str, Any]]
"""What became of a table, the properties that it got and lost, and each row: how, before, after."""


def schema_of(types: Types) -> GraphSchema:
    """Give the schema of a state."""
    nodes, edges = [], []
    for key, declared in types.items():
        kind, _, name = key.partition(":")
        properties = {each: _ARROW[type_] for each, type_ in declared.items()}
        unique = [each for each in declared if _UNIQUE.get(key) == each]
        if kind == "node":
            nodes.append(NodeType(name, properties, unique=unique))
        else:
            source, target = (end.partition(":")[2] for end in ENDS[key])
            edges.append(EdgeType(name, source, target, properties, unique=unique))
    return GraphSchema(nodes=nodes, edges=edges)


def content(snapshot: Snapshot) -> tuple[Types, Rows]:
    """Read all of a snapshot."""
    named = {type_: name for name, type_ in _ARROW.items()}
    types = {
        each.table_key: {name: named[type_] for name, type_ in each.properties.items()}
        for each in snapshot.schema.types
    }
    rows: Rows = {}
    for key, entry in snapshot.tables.items():
        listed = snapshot.read(key).to_pylist()
        rows[key] = {row["id"]: row for row in listed}
        if not len(listed) == len(rows[key]) == entry.row_count:
            message = f"{key} counts {entry.row_count} rows, and has {listed}"
            raise AssertionError(message)
    return types, rows


def put(state: State, key: str, number: int, end: int, value: int) -> Row | None:
    """Put a row into a table, or take it out where the value is 0; give the new row."""
    ids = _IDS[key.partition(":")[0]]
    new: Row = {"id": ids[number % len(ids)]}
    for column, node in zip(("src", "dst"), ENDS.get(key, ()), strict=False):
        nodes = sorted(state.rows.get(node, ()))
        if not nodes:
            return None
        new[column] = nodes[end % len(nodes)]
    for name, type_ in state.types[key].items():
        new[name] = value if type_ == "int" else f"t{value + end}"
    if _UNIQUE.get(key) in new and end == 0:
        new[_UNIQUE[key]] = None
    state.rows[key].pop(new["id"], None)
    if value:
        state.rows[key][new["id"]] = new
    return new


def emptied(state: State) -> None:
    """Take out edges without their nodes, and values that stand twice."""
    for key, ends in ENDS.items():
        rows = state.rows.get(key, {})
        for row_id, row in list(rows.items()):
            if any(
                row[column] not in state.rows[node]
                for column, node in zip(("src", "dst"), ends, strict=True)
            ):
                del rows[row_id]
    for key, name in _UNIQUE.items():
        seen: set[str] = set()
        for row_id, row in state.rows.get(key, {}).items():
            if row.get(name) in seen:
                state.rows[key][row_id] = {**row, name: None}
            elif row.get(name) is not None:
                seen.add(row[name])


def is_whole(state: State) -> bool:
    """Tell whether no edge dangles, and no unique value stands twice."""
    other = State(state.types, copy.deepcopy(state.rows))
    emptied(other)
    return other.rows == state.rows


def toggle(state: State, number: int) -> bool:
    """Drop a type or a property that is there, or add it; tell whether that can be."""
    for key, name, declared in _TOGGLES[number % len(_TOGGLES)]:
        if name is not None:
            _toggle_property(state, key, name, declared)
        elif key in state.types:
            del state.types[key], state.rows[key]
        elif declared is not None:
            state.types[key], state.rows[key] = dict(declared), {}
    return all(
        end in state.types for key, ends in ENDS.items() if key in state.types for end in ends
    )


def _toggle_property(state: State, key: str, name: str, type_: str) -> None:
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


def touched(before: State, after: State) -> set[str]:
    """Name the tables that are not the same."""
    return {
        key
        for key in {*before.types, *after.types}
        if (before.types.get(key), before.rows.get(key))
        != (after.types.get(key), after.rows.get(key))
    }


def differing(before: State, after: State) -> dict[str, Difference]:
    """Tell what differs, table by table: the plain difference of two states."""
    found = {}
    for key in {*before.types, *after.types}:
        older, newer = before.types.get(key), after.types.get(key)
        change = "added" if older is None else "removed" if newer is None else "changed"
        have, had = set((newer or {}).items()), set((older or {}).items())
        kept = change == "changed"
        got = frozenset(name for name, _ in have - had) if kept else frozenset()
        lost = frozenset(name for name, _ in had - have) if kept else frozenset()
        rows = _differing_rows(key, before, after)
        if rows or got or lost or not kept:
            found[key] = (change, got, lost, rows)
    return found


def _differing_rows(key: str, before: State, after: State) -> dict[str, Any]:
    older, newer = before.rows.get(key, {}), after.rows.get(key, {})
    columns = {*before.types.get(key, {}).items(), *after.types.get(key, {}).items()}
    found = {}
    for row_id in {*older, *newer}:
        one, other = older.get(row_id), newer.get(row_id)
        if one is None or other is None:
            found[row_id] = ("insert" if one is None else "delete", one, other)
        elif _values(before, key, one, columns) != _values(after, key, other, columns):
            found[row_id] = ("update", one, other)
    return found


def _values(state: State, key: str, row: Row, columns: set[tuple[str, str]]) -> dict[Any, Any]:
    has = state.types[key]
    ends = {name: row.get(name) for name in ("src", "dst")}
    return ends | {
        (name, type_): row[name] if has.get(name) == type_ else None for name, type_ in columns
    }
