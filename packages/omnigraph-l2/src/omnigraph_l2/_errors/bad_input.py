"""Errors of a call that is wrong: nothing was changed, and the same call fails again."""

from __future__ import annotations

from typing import ClassVar

import attrs
from attrs import define

from omnigraph_l1.errors import OmniGraphError

__all__ = [
    "BadInput",
    "BranchInUse",
    "ConcurrentUse",
    "DanglingEdges",
    "DataProblem",
    "DuplicateIds",
    "DuplicateValues",
    "InvalidBranchName",
    "InvalidChange",
    "InvalidData",
    "InvalidFilter",
    "InvalidLocation",
    "InvalidRequest",
    "InvalidSchema",
    "InvalidTagName",
    "MissingPackage",
    "TransactionClosed",
]


@define(kw_only=True, slots=False)
class BadInput(OmniGraphError):
    """The call cannot be carried out as it is. Nothing was changed."""

    kind: ClassVar[str] = "bad_input"


@define(kw_only=True, slots=False)
class InvalidLocation(BadInput):
    """The URI, or an option of its store, is invalid."""

    kind: ClassVar[str] = "invalid_location"
    location: str
    reason: str

    def __str__(self) -> str:
        return f"Invalid location {self.location!r}: {self.reason}"


@define(kw_only=True, slots=False)
class InvalidSchema(BadInput):
    """The declared types cannot be stored. ``problems`` has all of them."""

    kind: ClassVar[str] = "invalid_schema"
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return f"Invalid schema: {'; '.join(self.problems)}. Nothing was changed."


@attrs.frozen
class DataProblem:
    """One problem in the data: the column, the reason, and the row."""

    column: str
    problem: str
    row: int | None = None

    def __str__(self) -> str:
        where = "" if self.row is None else f" (row {self.row})"
        return f"{self.column}: {self.problem}{where}"


@define(kw_only=True, slots=False)
class InvalidData(BadInput):
    """The rows do not fit the table. ``problems`` has all of them, not only the first."""

    kind: ClassVar[str] = "invalid_data"
    table_key: str
    problems: tuple[DataProblem, ...]

    def __str__(self) -> str:
        listed = "; ".join(str(problem) for problem in self.problems)
        return f"Invalid data for {self.table_key}: {listed}. Nothing was published."


@define(kw_only=True, slots=False)
class DuplicateIds(BadInput):
    """An append has ids that are already in the table, or that occur twice in the data."""

    kind: ClassVar[str] = "duplicate_ids"
    table_key: str
    existing: tuple[str, ...]
    """Ids that the table has already (the first of them)."""
    repeated: tuple[str, ...]
    """Ids that occur more than once in the data (the first of them)."""

    def __str__(self) -> str:
        found = [
            f"{words}: {', '.join(map(repr, ids))}"
            for words, ids in (
                ("ids that exist already", self.existing),
                ("ids that stand more than once in the data", self.repeated),
            )
            if ids
        ]
        return (
            f"An append to {self.table_key} must bring new ids, found {'; '.join(found)}. "
            "Use upsert to replace rows. Nothing was published."
        )


@define(kw_only=True, slots=False)
class DuplicateValues(BadInput):
    """A property that is declared unique would have a value in more than one row."""

    kind: ClassVar[str] = "duplicate_values"
    table_key: str
    property: str
    existing: tuple[str, ...]
    """Values, as text, that other rows have already (the first of them)."""
    repeated: tuple[str, ...]
    """Values that occur more than once in what was written (the first of them)."""

    def __str__(self) -> str:
        found = [
            f"{words}: {', '.join(map(repr, values))}"
            for words, values in (
                ("values that other rows have", self.existing),
                ("values that stand more than once in the data", self.repeated),
            )
            if values
        ]
        return (
            f"{self.property!r} of {self.table_key} is unique, found {'; '.join(found)}. Change "
            "or leave out these rows. Nothing was published."
        )


@define(kw_only=True, slots=False)
class DanglingEdges(BadInput):
    """Edges would be left without the node at one of their ends."""

    kind: ClassVar[str] = "dangling_edges"
    table_key: str
    """The edge table."""
    column: str
    node_tables: tuple[str, ...]
    """Where the end was looked for."""
    missing: tuple[str, ...]
    """Node ids that are not there (the first of them)."""

    def __str__(self) -> str:
        return (
            f"Edges of {self.table_key} would dangle: their {self.column!r} names nodes that are "
            f"not in {' or '.join(self.node_tables) or 'any table'}: "
            f"{', '.join(map(repr, self.missing))}. Add the nodes, or delete the edges, in the "
            "same transaction. Nothing was published."
        )


@define(kw_only=True, slots=False)
class InvalidFilter(BadInput):
    """A filter is not an expression that can be evaluated on this table."""

    kind: ClassVar[str] = "invalid_filter"
    table_key: str
    filter: str
    reason: str

    def __str__(self) -> str:
        return f"Invalid filter {self.filter!r} for {self.table_key}: {self.reason}."


@define(kw_only=True, slots=False)
class InvalidBranchName(BadInput):
    """A name breaks the rules for branch names."""

    kind: ClassVar[str] = "invalid_branch_name"
    name: str
    rule: str

    def __str__(self) -> str:
        return f"Invalid branch name {self.name!r}: {self.rule}."


@define(kw_only=True, slots=False)
class InvalidTagName(BadInput):
    """A name breaks the rules for tag names, which are those for branches."""

    kind: ClassVar[str] = "invalid_tag_name"
    name: str
    rule: str

    def __str__(self) -> str:
        return f"Invalid tag name {self.name!r}: {self.rule}."


@define(kw_only=True, slots=False)
class BranchInUse(BadInput):
    """A branch cannot be deleted, because branches started from it or tags point to it."""

    kind: ClassVar[str] = "branch_in_use"
    branch: str
    children: tuple[str, ...]
    """Graph branches that started from it."""
    runs: tuple[str, ...]
    """Runs that are at work on it."""
    tags: tuple[str, ...] = ()
    """Tags of commits that are on it."""

    def __str__(self) -> str:
        needs = (("branches", self.children), ("runs", self.runs), ("tags", self.tags))
        found = [f"{words}: {', '.join(map(repr, names))}" for words, names in needs if names]
        return (
            f"Branch {self.branch!r} cannot be deleted, because others need it: "
            f"{'; '.join(found)}. Delete or end those first, or say force=True: its name is free "
            "then, and what the others need stays. Nothing was changed."
        )


@define(kw_only=True, slots=False)
class InvalidChange(BadInput):
    """The catalog cannot take this change of a table."""

    kind: ClassVar[str] = "invalid_change"
    table_key: str
    reason: str

    def __str__(self) -> str:
        return f"Invalid change of {self.table_key}: {self.reason}. Nothing was changed."


@define(kw_only=True, slots=False)
class InvalidRequest(BadInput):
    """An argument, or the combination of arguments, is invalid here."""

    kind: ClassVar[str] = "invalid_request"
    what: str
    reason: str

    def __str__(self) -> str:
        return f"Invalid {self.what}: {self.reason}. Nothing was changed."


@define(kw_only=True, slots=False)
class MissingPackage(BadInput):
    """A feature needs a Python package that is not installed."""

    kind: ClassVar[str] = "missing_package"
    package: str
    what: str
    requirement: str

    def __str__(self) -> str:
        return (
            f"{self.what} needs the Python package {self.package}, which is not installed here. "
            f"Install it: pip install '{self.requirement}'."
        )


@define(kw_only=True, slots=False)
class ConcurrentUse(BadInput):
    """An object that threads cannot share was used by two of them at the same time."""

    kind: ClassVar[str] = "concurrent_use"
    what: str

    def __str__(self) -> str:
        return (
            f"Another thread is using this {self.what}. Use one in each thread; threads may share "
            "the repository handle."
        )


@define(kw_only=True, slots=False)
class TransactionClosed(BadInput):
    """A transaction, run or repository was used after it had ended."""

    kind: ClassVar[str] = "transaction_closed"
    what: str
    state: str

    def __str__(self) -> str:
        return f"This {self.what} is {self.state} and cannot be used any more. Begin another."
