"""Merge the schema of a type that one or both sides have added, changed or dropped. Pure.

Invariant: a change of one side is taken, property by property. A change of both sides is taken if
it is the same. A change that would lose rows that the other side wrote is a conflict.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeAlias

import attrs
import pyarrow as pa

from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._errors.merging import MergeConflictKind
from omnigraph_l2._merge.three_way import merge3_value

__all__ = [
    "CLASHING",
    "Clash",
    "Declared",
    "Merged",
    "TableOutcome",
    "decide_outcome",
    "declaration_of",
]

_GIVEN: Final = {"node": ("id",), "edge": ("id", "src", "dst")}
_ENDS: Final = "endpoints"
_OF_PROPERTIES: Final = frozenset({"unique", "indexes"})
"""What is said of single properties, and so merged property by property."""


class _Clashing(enum.Enum):
    CLASHING = enum.auto()


CLASHING: Final = _Clashing.CLASHING
"""What stands for a declaration on which the sides of a base do not agree."""


@attrs.frozen
class Declared:
    """A type as one state of the graph has it."""

    properties: Mapping[str, tuple[pa.DataType, bool]]
    """The type of each, and whether it may be null."""
    said: Mapping[str, Any]
    """What its ``table`` row says besides: ends, constraints, indexes wanted."""

    def columns(self, table_key: str) -> pa.Schema:
        """Return the columns of its table."""
        given = _GIVEN[table_key.partition(":")[0]]
        return pa.schema(
            [pa.field(name, pa.string(), nullable=False) for name in given]
            + [pa.field(name, *each) for name, each in self.properties.items()]
        )


class TableOutcome(enum.Enum):
    """The outcome of the table of a type on the target."""

    KEEP = "it stays as it is"
    DROP = "it goes"
    TAKE = "it becomes that of the other side, as a whole"


@attrs.frozen
class Merged:
    """The rows of both sides are merged, under this declaration."""

    declared: Declared


@attrs.frozen
class Clash:
    """A conflict of the two sides."""

    kind: MergeConflictKind
    detail: str = ""


Decision: TypeAlias = TableOutcome | Merged | Clash


def declaration_of(state: CatalogState, table_key: str, schema: pa.Schema) -> Declared:
    """Return what a type is in a state of the catalog, and by the columns of its table."""
    given = _GIVEN[table_key.partition(":")[0]]
    registration = state.registration(table_key)
    return Declared(
        properties={
            field.name: (field.type, field.nullable) for field in schema if field.name not in given
        },
        said=dict(registration.metadata) if registration is not None else {},
    )


def decide_outcome(
    base: Declared | _Clashing | None,
    ours: Declared | None,
    theirs: Declared | None,
    *,
    ours_changed: Callable[[], bool],
    theirs_changed: Callable[[], bool],
) -> Decision:
    """Decide about a type. Changed rows of a side are looked for only where they matter."""
    if ours is None or theirs is None:
        return _one_sided(base, ours, theirs, ours_changed, theirs_changed)
    merged = _merge_declarations(base, ours, theirs)
    if isinstance(merged, Declared) and _fits_in_place(ours, merged):
        return Merged(merged)
    if base == ours and not ours_changed():
        return TableOutcome.TAKE
    if base == theirs and not theirs_changed():
        return TableOutcome.KEEP
    detail = merged if isinstance(merged, str) else "it cannot be changed while it has rows"
    return Clash(MergeConflictKind.DIVERGENT_SCHEMA, detail)


def _one_sided(
    base: Declared | _Clashing | None,
    ours: Declared | None,
    theirs: Declared | None,
    ours_changed: Callable[[], bool],
    theirs_changed: Callable[[], bool],
) -> Decision:
    if theirs is None:
        if ours is None or base is None:
            return TableOutcome.KEEP
        if base != ours or ours_changed():
            return Clash(MergeConflictKind.DROP_VS_CHANGE)
        return TableOutcome.DROP
    if base is None:
        return TableOutcome.TAKE
    if base != theirs or theirs_changed():
        return Clash(MergeConflictKind.DROP_VS_CHANGE)
    return TableOutcome.KEEP


def _merge_declarations(
    base: Declared | _Clashing | None, ours: Declared, theirs: Declared
) -> Declared | str:
    """Merge two declarations, or return the clash."""
    if theirs in (ours, base):
        return ours
    if base == ours:
        return theirs
    if not isinstance(base, Declared):
        return "what both have in common is not known" if base is CLASHING else "both added it"
    properties, clashes = _by_name(base.properties, ours.properties, theirs.properties)
    said, others = _by_name(base.said, ours.said, theirs.said)
    if clashes or others:
        return ", ".join(map(repr, clashes + others))
    for name in _OF_PROPERTIES & said.keys():
        # What was said of a property goes with it.
        said[name] = _only(said[name], properties)
        if not said[name]:
            del said[name]
    return Declared(properties=properties, said=said)


def _by_name(
    base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    merged: dict[str, Any] = {}
    clashes = []
    for name in dict.fromkeys([*ours, *theirs, *base]):
        before, mine, others = base.get(name), ours.get(name), theirs.get(name)
        chosen = merge3_value(before, mine, others, CLASHING)
        if chosen is CLASHING and name in _OF_PROPERTIES:
            chosen = _merge_properties(before, mine, others)
        if chosen is CLASHING:
            clashes.append(name)
        elif chosen is not None:
            merged[name] = chosen
    return merged, clashes


def _merge_properties(base: Any, ours: Any, theirs: Any) -> Any:
    """Merge what is said of single properties: a list of names, or something for each name."""
    sides = [each or type(ours or theirs)() for each in (base, ours, theirs)]
    if all(isinstance(each, list) for each in sides):
        found, _ = _by_name(*(dict.fromkeys(each, True) for each in sides))
        return list(found)
    if all(isinstance(each, Mapping) for each in sides):
        found, clashes = _by_name(*sides)
        return CLASHING if clashes else found
    return CLASHING


def _only(said: Any, names: Collection[str]) -> Any:
    if isinstance(said, Mapping):
        return {name: each for name, each in said.items() if name in names}
    return [name for name in said if name in names] if isinstance(said, list) else said


def _fits_in_place(ours: Declared, merged: Declared) -> bool:
    """Return whether the rows of ours keep their values under the merged declaration."""
    if ours.said.get(_ENDS) != merged.said.get(_ENDS):
        return False
    for name, (type_, nullable) in merged.properties.items():
        before = ours.properties.get(name)
        if before is None or before[0] != type_:
            if not nullable:
                return False
        elif before[1] != nullable:
            return False
    return True
