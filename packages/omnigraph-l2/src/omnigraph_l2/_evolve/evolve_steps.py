"""The steps from one schema to another, and the plan that holds them. Pure values.

Invariant: a step describes its effect and what is lost. The description includes the number of rows
when the plan was made, which is not part of the comparison of plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import attrs
import pyarrow as pa

from omnigraph_l2._model.graph_schema import EdgeType, NodeType

__all__ = [
    "AddProperty",
    "AddType",
    "ChangeEnds",
    "ChangeIndexes",
    "ChangeUnique",
    "DropProperty",
    "DropType",
    "EvolvePlan",
    "EvolveStep",
]


@attrs.frozen(kw_only=True)
class AddType:
    """Add a type with an empty table."""

    table_key: str
    declared: NodeType | EdgeType
    was_dropped: bool = attrs.field(default=False, eq=False)
    """Whether there was a type of that name before. Nothing of it comes back."""

    def __str__(self) -> str:
        columns = ", ".join(
            f"{name}: {type_}{', required' if name in self.declared.required else ''}"
            for name, type_ in self.declared.properties.items()
        )
        ends = ""
        if isinstance(self.declared, EdgeType):
            ends = f" {name_ends(self.declared.source, self.declared.target)}"
        again = "; it was dropped before, and starts empty" if self.was_dropped else ""
        return f"add {name_type(self.table_key)}{ends} ({columns or 'no properties'}){again}"


@attrs.frozen(kw_only=True)
class DropType:
    """Remove a type with all its rows."""

    table_key: str
    rows: int = attrs.field(default=0, eq=False)

    def __str__(self) -> str:
        return (
            f"drop {name_type(self.table_key)} and its {count_rows(self.rows)}; only older "
            "snapshots keep them"
        )


@attrs.frozen(kw_only=True)
class AddProperty:
    """Add a nullable property."""

    table_key: str
    name: str
    type: pa.DataType
    rows: int = attrs.field(default=0, eq=False)

    def __str__(self) -> str:
        return (
            f"add property {self.name!r} ({self.type}) to {name_type(self.table_key)}; it is null "
            f"in the rows that are there ({self.rows:,})"
        )


@attrs.frozen(kw_only=True)
class DropProperty:
    """Remove a property with all its values."""

    table_key: str
    name: str
    type: pa.DataType
    rows: int = attrs.field(default=0, eq=False)

    def __str__(self) -> str:
        return (
            f"drop property {self.name!r} ({self.type}) of {name_type(self.table_key)}, with its "
            f"values in {count_rows(self.rows)}; only older snapshots keep them"
        )


@attrs.frozen(kw_only=True)
class ChangeEnds:
    """Change the node types of an edge type that has no edges."""

    table_key: str
    source: str | None
    target: str | None

    def __str__(self) -> str:
        ends = name_ends(self.source, self.target)
        return f"let {name_type(self.table_key)}, which has no edges, go {ends}"


@attrs.frozen(kw_only=True)
class ChangeUnique:
    """Declare properties unique, or no longer. Rows that are there are checked."""

    table_key: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = [
            f"{words} {', '.join(map(repr, names))}"
            for words, names in (
                ("require unique values of", self.added),
                ("allow equal values of", self.removed),
            )
            if names
        ]
        return f"{' and '.join(said)} in {name_type(self.table_key)}"


@attrs.frozen(kw_only=True)
class ChangeIndexes:
    """Declare other indexes. They are built and dropped by the next ``repo.optimize``."""

    table_key: str
    indexes: Mapping[str, str]

    def __str__(self) -> str:
        wanted = ", ".join(f"{kind} on {name!r}" for name, kind in self.indexes.items())
        return f"declare the indexes of {name_type(self.table_key)}: {wanted or 'none'}"


EvolveStep: TypeAlias = (
    AddType | DropType | AddProperty | DropProperty | ChangeEnds | ChangeUnique | ChangeIndexes
)


@attrs.frozen
class EvolvePlan:
    """What ``repo.evolve`` does to change the present schema into another.

    Print it, or look at its ``steps``. All of them are one publish.
    """

    steps: tuple[EvolveStep, ...] = ()
    relies_on: tuple[str, ...] = attrs.field(default=(), kw_only=True, repr=False)
    """Tables that are not changed, and must not change before the publish either."""

    @property
    def is_empty(self) -> bool:
        """Whether the schema is the wanted one already."""
        return not self.steps

    @property
    def notes(self) -> tuple[str, ...]:
        """What looks like a rename: nothing is renamed, the old is dropped and the new is empty."""
        return (*_renamed_types(self.steps), *_renamed_properties(self.steps))

    def __str__(self) -> str:
        if self.is_empty:
            return "Nothing is to be done."
        lines = [f"{number}. {step}" for number, step in enumerate(self.steps, 1)]
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])


def name_type(table_key: str) -> str:
    """Name a type in a sentence."""
    kind, _, name = table_key.partition(":")
    return f"{kind} type {name!r}"


def name_ends(source: str | None, target: str | None) -> str:
    """Return the ends of an edge type in a sentence."""
    words = ["any node type" if end is None else repr(end) for end in (source, target)]
    return f"from {words[0]} to {words[1]}"


def count_rows(count: int) -> str:
    """Count rows in a sentence."""
    return "1 row" if count == 1 else f"{count:,} rows"


def _renamed_types(steps: tuple[EvolveStep, ...]) -> Iterator[str]:
    for kind in ("node", "edge"):
        gone = [each.table_key for each in steps if isinstance(each, DropType) and each.rows]
        new = [each.table_key for each in steps if isinstance(each, AddType)]
        old_names = [key for key in gone if key.startswith(f"{kind}:")]
        new_names = [key for key in new if key.startswith(f"{kind}:")]
        if old_names and new_names:
            yield (
                f"a type cannot be renamed: no row of {_join(old_names)} goes over to "
                f"{_join(new_names)}. To keep rows, add first, copy them, and drop then"
            )


def _renamed_properties(steps: tuple[EvolveStep, ...]) -> Iterator[str]:
    for key in dict.fromkeys(step.table_key for step in steps):
        gone = [
            each
            for each in steps
            if isinstance(each, DropProperty) and each.table_key == key and each.rows
        ]
        new = [each for each in steps if isinstance(each, AddProperty) and each.table_key == key]
        if gone and new:
            yield (
                f"a property cannot be renamed: no value of {_quote(gone)} of {name_type(key)} "
                f"goes over to {_quote(new)}. To keep values, add first, copy them, and drop then"
            )


def _join(table_keys: list[str]) -> str:
    return " or ".join(name_type(key) for key in table_keys)


def _quote(steps: list[DropProperty] | list[AddProperty]) -> str:
    return " or ".join(repr(step.name) for step in steps)
