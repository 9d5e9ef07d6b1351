"""Any schema after any other: a repository beside a plain model of what evolving means."""

from __future__ import annotations

import copy
import tempfile
from typing import Any

import pyarrow as pa
import pytest
from graphs import like
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from sizes import sized

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository, Snapshot
from omnigraph_l2.errors import InvalidSchema
from omnigraph_testing.strategies import property_types, type_names

_NODES, _EDGES = ("A", "B", "人"), ("E", "F")
_NAMES = ("p", "q", "Ä")
_TYPES = (pa.int32(), pa.string())

Types = dict[str, NodeType | EdgeType]
Tables = dict[str, dict[str, dict[str, Any]]]


@st.composite
def graph_schemas(draw: st.DrawFn) -> GraphSchema:
    """Draw schemas that are near each other, and often cannot follow each other."""

    def properties() -> tuple[dict[str, pa.DataType], tuple[str, ...]]:
        names = draw(st.lists(st.sampled_from(_NAMES), unique=True))
        usual = st.just(_TYPES[0]) | st.just(_TYPES[0]) | st.sampled_from(_TYPES)
        declared = {name: draw(usual) for name in names}
        required = draw(st.just(()) | st.just(()) | st.just(tuple(names[:1])))
        return declared, required

    names = draw(st.lists(st.sampled_from(_NODES), unique=True))
    nodes = []
    for name in names:
        declared, required = properties()
        nodes.append(NodeType(name, declared, required=required))
    edges = []
    for name in draw(st.lists(st.sampled_from(_EDGES), unique=True)) if names else ():
        declared, required = properties()
        source, target = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        edges.append(EdgeType(name, source, target, declared, required=required))
    return GraphSchema(nodes=nodes, edges=edges)


def is_possible(old: Types, new: Types, tables: Tables) -> bool:
    """Say in the model's own words whether one schema can follow the other."""
    return all(
        _ends(old[key]) == _ends(new[key]) or not tables[key] for key in old.keys() & new.keys()
    ) and all(
        old[key].properties.get(name, type_) == type_
        and (name in new[key].required) == (name in old[key].required)
        for key in old.keys() & new.keys()
        for name, type_ in new[key].properties.items()
    )


def _ends(declared: NodeType | EdgeType) -> tuple[str | None, ...]:
    return (declared.source, declared.target) if isinstance(declared, EdgeType) else ()


def evolved(tables: Tables, old: Types, new: Types) -> Tables:
    """Say what rows are then there."""
    after: Tables = {}
    for key, declared in new.items():
        after[key] = {}
        if key in old:
            fixed = ("id", "src", "dst") if key.startswith("edge:") else ("id",)
            kept = [name for name in declared.properties if name in old[key].properties]
            for row_id, row in tables[key].items():
                empty = dict.fromkeys(declared.properties)
                after[key][row_id] = {**{n: row[n] for n in fixed}, **empty} | {
                    name: row[name] for name in kept
                }
    return after


def content(snapshot: Snapshot) -> tuple[Types, Tables]:
    """Read all of a snapshot."""
    tables = {
        key: {row["id"]: row for row in snapshot.read(key).to_pylist()} for key in snapshot.tables
    }
    return like(snapshot.schema), tables


def add_rows(repository: Repository, types: Types, tables: Tables, turn: int) -> None:
    """Put a row into each table, and an edge where both ends have a node."""
    with repository.transaction() as tx:
        for key, declared in sorted(types.items(), reverse=True):
            row: dict[str, Any] = {"id": f"{key}-{turn}"}
            if isinstance(declared, EdgeType):
                ends = [f"node:{declared.source}", f"node:{declared.target}"]
                if not all(tables[end] for end in ends):
                    continue
                row["src"], row["dst"] = (min(tables[end]) for end in ends)
            for name, type_ in declared.properties.items():
                row[name] = turn if type_ == pa.int32() else f"{name} {turn}"
            tx.append(key, [row])
            tables[key][row["id"]] = row


@settings(
    max_examples=max(5, settings().max_examples // sized(16, 4)),  # each is a repository or more
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    schemas=st.lists(graph_schemas(), min_size=2, max_size=6),
    written=st.lists(st.booleans(), min_size=5, max_size=5),
)
def test_a_repository_follows_the_model(schemas: list[GraphSchema], written: list[bool]) -> None:
    """After evolve the schema is the wanted one, kept columns keep their values, what is refused
    changes nothing, and all older snapshots read as they did.
    """
    with (
        tempfile.TemporaryDirectory() as location,
        Repository.init(f"{location}/r", schemas[0], durability="none") as repository,
    ):
        types = like(schemas[0])
        tables: Tables = {key: {} for key in types}
        history: list[tuple[Snapshot, tuple[Types, Tables]]] = []
        for turn, wanted in enumerate(schemas[1:]):
            if written[turn]:
                add_rows(repository, types, tables, turn)
            before = repository.snapshot()
            assert content(before) == (types, tables)
            history.append((before, (types, copy.deepcopy(tables))))
            new = like(wanted)
            if not is_possible(types, new, tables):
                event("refused")
                with pytest.raises(InvalidSchema):
                    repository.evolve(wanted)
                assert repository.snapshot().version == before.version
                continue
            plan = repository.plan_evolution(wanted)
            commit = repository.evolve(wanted)
            event("changed" if commit else "the same")
            assert (commit is None) == plan.is_empty == (types == new)
            tables, types = evolved(tables, types, new), new
            assert content(repository.snapshot()) == (types, tables)
        for snapshot, then in history:
            assert content(snapshot) == then
            assert content(repository.snapshot(version=snapshot.version)) == then


@settings(
    max_examples=max(5, settings().max_examples // sized(16, 4)),  # each is a repository or more
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    names=st.lists(type_names(), min_size=2, max_size=2, unique_by=str.casefold),
    properties=st.dictionaries(
        type_names().filter(lambda name: name.casefold() not in {"id", "src", "dst"}),
        property_types(),
        max_size=4,
    ),
)
def test_any_type_comes_back_as_it_was_declared(
    names: list[str], properties: dict[str, pa.DataType]
) -> None:
    """Types of all names and columns: added, added to, dropped, and added again."""
    one, other = names
    with (
        tempfile.TemporaryDirectory() as location,
        Repository.init(f"{location}/r", durability="none") as repository,
    ):
        whole = GraphSchema(
            nodes=[NodeType(one, properties), NodeType(other)],
            edges=[EdgeType(one, one, other, properties)],
        )
        bare = GraphSchema(
            nodes=[NodeType(one), NodeType(other, properties)],
            edges=[EdgeType(one, one, other)],
        )
        for schema in (bare, whole, GraphSchema(), whole, bare):
            repository.evolve(schema)
            assert like(repository.snapshot().schema) == like(schema)
            assert repository.evolve(schema) is None
