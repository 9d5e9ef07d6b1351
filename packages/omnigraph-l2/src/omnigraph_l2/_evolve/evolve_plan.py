"""Plan the steps from the present schema to the wanted one, or explain why not. Pure.

Invariant: a plan loses only what its steps name. A change that would need unknown values,
reinterpret values, or leave edges without their nodes is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs
import pyarrow as pa

from omnigraph_l1 import table_path
from omnigraph_l2._evolve.evolve_steps import (
    AddProperty,
    AddType,
    ChangeEnds,
    ChangeIndexes,
    ChangeUnique,
    DropProperty,
    DropType,
    EvolvePlan,
    EvolveStep,
    count_rows,
    name_ends,
    name_type,
)
from omnigraph_l2._model.graph_schema import EdgeType, GraphSchema, NodeType, storing_problems
from omnigraph_l2.errors import InvalidSchema

__all__ = ["Present", "plan_evolution"]


@attrs.frozen(kw_only=True)
class Present:
    """What a branch has: its types, the rows of each, and every table that ever was registered."""

    schema: GraphSchema
    rows: Mapping[str, int]
    registered: Mapping[str, str]
    """The path of each table, by table key; those that were dropped too."""


def plan_evolution(present: Present, wanted: GraphSchema) -> EvolvePlan:
    """Return the steps, or raise ``InvalidSchema`` with every problem."""
    old = {each.table_key: each for each in present.schema.types}
    new = {each.table_key: each for each in wanted.types}
    unchanged = {key for key, each in new.items() if old.get(key) == each}
    problems = storing_problems(wanted, taken_as_they_are=unchanged)
    added = [key for key in new if key not in old]
    dropped = [key for key in old if key not in new]
    kept = [(old[key], new[key], present.rows[key]) for key in new if key in old]
    if not problems:
        for key in added:
            problems += _collisions(key, present, old)
    problems += _edges_without_ends(dropped, kept, present)
    for before, after, rows in kept:
        problems += _impossible(before, after, rows)
    if problems:
        raise InvalidSchema(problems=tuple(problems))
    steps: list[EvolveStep] = [
        DropType(table_key=key, rows=present.rows[key]) for key in sorted(dropped)
    ]
    steps += [
        AddType(table_key=key, declared=new[key], was_dropped=key in present.registered)
        for key in sorted(added, key=lambda key: (key.startswith("edge:"), key))
    ]
    for before, after, rows in kept:
        steps += _property_steps(before, after, rows)
    loosely = [before.table_key for before, after, _ in kept if _has_open_end(before, after)]
    return EvolvePlan(tuple(steps), relies_on=tuple(loosely if dropped else ()))


def _collisions(
    key: str, present: Present, visible: Mapping[str, NodeType | EdgeType]
) -> Iterator[str]:
    for other, path in present.registered.items():
        if other == key:
            continue
        if other.casefold() == key.casefold():
            how = "differs only by case from"
        elif path == table_path(key):
            how = "has the same hash as"
        else:
            continue
        when = "is here" if other in visible else "was dropped, and whose history is kept"
        yield f"{name_type(key)} {how} {name_type(other)}, which {when}; choose another name"


def _edges_without_ends(
    dropped: list[str],
    kept: list[tuple[NodeType | EdgeType, NodeType | EdgeType, int]],
    present: Present,
) -> Iterator[str]:
    """Find edges whose ends are unknown and may be among the nodes that would be dropped."""
    nodes = [key for key in dropped if key.startswith("node:") and present.rows[key]]
    for before, after, rows in kept:
        if nodes and rows and _has_open_end(before, after):
            yield (
                f"{name_type(before.table_key)} has {count_rows(rows)} that may end at any node, "
                f"so {' and '.join(map(name_type, nodes))} cannot be dropped before them"
            )


def _has_open_end(before: NodeType | EdgeType, after: NodeType | EdgeType) -> bool:
    return any(
        isinstance(each, EdgeType) and None in {each.source, each.target}
        for each in (before, after)
    )


def _impossible(
    before: NodeType | EdgeType, after: NodeType | EdgeType, rows: int
) -> Iterator[str]:
    which = name_type(before.table_key)
    if _ends(before) != _ends(after) and rows:
        yield (
            f"{which} has {count_rows(rows)}, so it cannot go {name_ends(*_ends(after))} instead "
            f"of {name_ends(*_ends(before))}; delete the edges first, or declare another edge type"
        )
    for name, type_ in after.properties.items():
        found = before.properties.get(name)
        if found is None:
            if name in after.required:
                yield (
                    f"property {name!r} of {which} is new and required, and rows from before have "
                    "no value for it; add it without requiring it"
                )
        elif isinstance(type_, pa.DataType) and found != type_:
            yield (
                f"property {name!r} of {which} is {found} and cannot become {type_}: add one of "
                "another name, copy the values, and drop this one then"
            )
        elif name in after.required and name not in before.required:
            yield (
                f"property {name!r} of {which} may be null, and cannot become required: rows and "
                "writers at work may have nulls"
            )
        elif name in before.required and name not in after.required:
            yield (
                f"property {name!r} of {which} is required, and stays so: readers rely on it; add "
                "one of another name, copy the values, and drop this one then"
            )


def _property_steps(
    before: NodeType | EdgeType, after: NodeType | EdgeType, rows: int
) -> Iterator[EvolveStep]:
    key = before.table_key
    if isinstance(after, EdgeType) and _ends(before) != _ends(after):
        yield ChangeEnds(table_key=key, source=after.source, target=after.target)
    for name, type_ in before.properties.items():
        if name not in after.properties:
            yield DropProperty(table_key=key, name=name, type=type_, rows=rows)
    for name, type_ in after.properties.items():
        if name not in before.properties:
            yield AddProperty(table_key=key, name=name, type=type_, rows=rows)
    added = tuple(name for name in after.unique if name not in before.unique)
    removed = tuple(name for name in before.unique if name not in after.unique)
    if added or removed:
        yield ChangeUnique(table_key=key, added=added, removed=removed)
    if dict(after.indexes) != dict(before.indexes):
        yield ChangeIndexes(table_key=key, indexes=after.indexes)


def _ends(declared: NodeType | EdgeType) -> tuple[str | None, ...]:
    return (declared.source, declared.target) if isinstance(declared, EdgeType) else ()
