"""Coming from one schema to another, as one publish.

Always: the plan that is applied is the one of the first look. Rows that others publish meanwhile do
not matter, and the change is made again on top of them; once others change types too, the plan is
not theirs any more, and the race is lost. A crash before the publish leaves datasets that nobody
sees, and that the next evolve takes up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l1 import Table, new_ulid, table_path
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._branches.names import is_hidden
from omnigraph_l2._catalog.changes import (
    Change,
    Intent,
    RegisterTable,
    TableTombstone,
    TableUpdate,
)
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.state import CatalogState, TableEntry
from omnigraph_l2._creating import REGISTERED, registration_metadata
from omnigraph_l2._errors.translating import table_border
from omnigraph_l2._events import emit
from omnigraph_l2._evolving.foreign import refuse_foreign
from omnigraph_l2._evolving.planning import Present, plan_evolution
from omnigraph_l2._evolving.steps import (
    AddProperty,
    AddType,
    ChangeEnds,
    ChangeIndexes,
    ChangeUnique,
    DropProperty,
    DropType,
    EvolvePlan,
    EvolveStep,
)
from omnigraph_l2._evolving.tables import begun, declared, emptied, reshaped
from omnigraph_l2._publishing.turns import Turns, lineage
from omnigraph_l2._schema import EdgeType, GraphSchema, NodeType
from omnigraph_l2._snapshots.snapshot import declared_type
from omnigraph_l2._storage import Root
from omnigraph_l2._transactions.unique import check_unique
from omnigraph_l2._transactions.version_facts import version_metadata
from omnigraph_l2.errors import ExpectedVersionMismatch, InvalidRequest

__all__ = ["Evolver"]

_DECLARING = (ChangeEnds, ChangeUnique, ChangeIndexes)


@attrs.frozen(kw_only=True)
class _Look:
    """What was seen of a branch at one moment, and what it takes from there."""

    state: CatalogState
    plan: EvolvePlan


@attrs.frozen(kw_only=True)
class Evolver:
    """Changes the schema of one branch."""

    root: Root
    branch: GraphBranch
    turns: Turns
    clock: Callable[[], datetime]

    def plan(self, wanted: GraphSchema) -> EvolvePlan:
        """Tell what an evolve would do now."""
        return self._look(wanted).plan

    def evolve(
        self, wanted: GraphSchema, *, actor: str | None, message: str | None, timeout: float
    ) -> GraphCommit | None:
        """Make a schema that of the branch; None where it is already."""
        deadline = time.monotonic() + timeout
        commit_id = new_ulid()
        hold = self.branch.hold()
        first = latest = self._look(wanted)
        lost = 0
        while not latest.plan.is_empty:
            touched = {table_path(step.table_key) for step in latest.plan.steps}
            wanted_turns = [lineage(path, self.branch.native) for path in touched]
            with self.turns.take(wanted_turns, lost=lost):
                latest = self._look_again(wanted, first)
                if latest.plan.is_empty:
                    break
                changes, expected = self._prepared(latest, wanted)
                intent = Intent(
                    graph_commit_id=commit_id,
                    changes=changes,
                    expected=expected,
                    created_at=self.clock(),
                    actor_id=actor,
                    message=message,
                    same_types_as=latest.state,
                )
                left = max(1.0, deadline - time.monotonic())
                try:
                    commit = self.branch.publish(intent, timeout=left, hold=hold)
                except ExpectedVersionMismatch:
                    if time.monotonic() > deadline:
                        raise
                else:
                    emit("evolved", place=self.root.place, steps=len(latest.plan.steps))
                    return commit
            lost += 1
            emit("evolve_retry", place=self.root.place, lost=lost)
        return None

    def _look(self, wanted: GraphSchema) -> _Look:
        _refuse_other_than_a_schema(wanted)
        self._refuse_internal()
        refuse_foreign(self.root, "Evolving the schema")
        state = self.branch.catalog.refresh().state
        return _Look(state=state, plan=plan_evolution(self._present(state), wanted))

    def _look_again(self, wanted: GraphSchema, first: _Look) -> _Look:
        """Look again; the plan must still be the same, unless somebody else has done all of it."""
        now = self._look(wanted)
        if now.plan.is_empty:
            return now
        for step in _not_in_both(first.plan.steps, now.plan.steps):
            raise ExpectedVersionMismatch(
                table_key=step.table_key,
                expected=first.state.latest(step.table_key),
                actual=now.state.latest(step.table_key),
            )
        return now

    def _refuse_internal(self) -> None:
        if is_hidden(self.branch.name):
            reason = f"{self.branch.name!r} is the branch of a run, and a run changes rows only"
            raise InvalidRequest(what="Evolving the schema", reason=reason)

    def _present(self, state: CatalogState) -> Present:
        def opened(entry: TableEntry) -> tuple[NodeType | EdgeType, int]:
            with table_border(entry.table_key):
                table = self.root.open(
                    entry.table_path, branch=entry.table_branch, version=entry.table_version
                )
                return declared_type(state, entry.table_key, table.schema), table.count()

        found = self.root.at_once(opened, state.tables.values())
        types = [declared for declared, _ in found]
        return Present(
            schema=GraphSchema(
                nodes=tuple(each for each in types if isinstance(each, NodeType)),
                edges=tuple(each for each in types if isinstance(each, EdgeType)),
            ),
            rows={declared.table_key: rows for declared, rows in found},
            registered={key: known.location for key, known in state.registrations.items()},
        )

    def _prepared(
        self, look: _Look, wanted: GraphSchema
    ) -> tuple[tuple[Change, ...], dict[str, int]]:
        """Make the versions that are to be published; give them, with what they rely on."""
        state, plan = look.state, look.plan
        steps: dict[str, list[EvolveStep]] = {}
        for step in plan.steps:
            steps.setdefault(step.table_key, []).append(step)

        def prepared(key: str) -> list[Change]:
            with table_border(key):
                return self._changes(state, key, steps[key], wanted)

        changes = self.root.at_once(prepared, steps)
        expected = {key: state.latest(key) for key in (*steps, *plan.relies_on)}
        return tuple(change for several in changes for change in several), expected

    def _changes(
        self, state: CatalogState, key: str, steps: list[EvolveStep], wanted: GraphSchema
    ) -> list[Change]:
        if isinstance(steps[0], DropType):
            # One above what is visible: a writer that still expects that version is refused.
            above = state.tables[key].table_version + 1
            return [TableTombstone(table_key=key, table_version=above)]
        columns = wanted[key].arrow_schema
        if isinstance(steps[0], AddType):
            table = begun(self.root, self.branch, key, columns, above=state.latest(key))
            return [_registered(key, wanted, {}), _updated(key, table, rows=0)]
        if all(isinstance(step, ChangeIndexes) for step in steps):
            return [_registered(key, wanted, state.registrations[key].metadata)]
        base = self.branch.lineage(state.tables[key])
        # Also where only the declaration changes there is a new version, so that a writer that
        # checked its rows against the old one is refused.
        if any(isinstance(step, ChangeEnds) for step in steps):
            table = emptied(base, columns, above=base.version)
        else:
            dropped = [step.name for step in steps if isinstance(step, DropProperty)]
            added = [
                pa.field(step.name, step.type) for step in steps if isinstance(step, AddProperty)
            ]
            table = reshaped(base, dropped, added)
            unique = [
                name for step in steps if isinstance(step, ChangeUnique) for name in step.added
            ]
            check_unique(key, unique, None, table)
            if table is base:
                table = declared(base)
        changes: list[Change] = []
        if any(isinstance(step, _DECLARING) for step in steps):
            changes.append(_registered(key, wanted, state.registrations[key].metadata))
        self.root.remember(state.tables[key].table_path, table)
        return [*changes, _updated(key, table, rows=table.count())]


def _refuse_other_than_a_schema(wanted: object) -> None:
    if not isinstance(wanted, GraphSchema):
        reason = f"a GraphSchema says what the types shall be, found {type(wanted).__name__}"
        raise InvalidRequest(what="Evolving the schema", reason=reason)


def _not_in_both(
    some: tuple[EvolveStep, ...], others: tuple[EvolveStep, ...]
) -> Iterator[EvolveStep]:
    yield from (step for step in some if step not in others)
    yield from (step for step in others if step not in some)


def _registered(key: str, wanted: GraphSchema, before: Mapping[str, Any]) -> RegisterTable:
    unknown = {name: value for name, value in before.items() if name not in REGISTERED}
    metadata = {**unknown, **registration_metadata(wanted[key])}
    return RegisterTable(table_key=key, table_path=table_path(key), metadata=metadata)


def _updated(key: str, table: Table, *, rows: int) -> TableUpdate:
    return TableUpdate(
        table_key=key,
        table_version=table.version,
        table_branch=table.branch,
        row_count=rows,
        metadata=version_metadata(table),
    )
