"""Evolve a branch from one schema to another, as one publish.

Invariant: the plan that is applied is the one that was made first. If others publish rows in
between, the change is made again on top of them. If others change types, the plan no longer
applies, and the race is lost. A crash before the publish leaves unpublished datasets, which the
next evolve reuses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l1 import Table, new_ulid, table_path
from omnigraph_l2._branch.snapshot import declared_type
from omnigraph_l2._catalog.catalog_state import CatalogState, TableEntry
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._catalog.publish_plan import Change, Intent, RegisterTable, TableTombstone
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._commit.commit_operation import NewVersion, Prepared, RowFacts, RowStep
from omnigraph_l2._commit.schema_writes import (
    create_fork_table,
    empty_table,
    redeclare_table,
    reshape_table,
)
from omnigraph_l2._commit.writer_queue import lineage
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._evolve.evolve_plan import Present, plan_evolution
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
)
from omnigraph_l2._model.argument_checks import invalid_argument
from omnigraph_l2._model.events import emit
from omnigraph_l2._model.graph_schema import EdgeType, GraphSchema, NodeType
from omnigraph_l2._store.branch_registry import is_hidden
from omnigraph_l2._store.repository_init import REGISTERED, registration_metadata
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import ExpectedVersionMismatch, InvalidRequest

__all__ = ["Evolver"]

_DECLARING = (ChangeEnds, ChangeUnique, ChangeIndexes)


@attrs.frozen(kw_only=True)
class _SchemaState:
    """The state of a branch, and the plan that leads from it to the wanted schema."""

    state: CatalogState
    plan: EvolvePlan


@attrs.frozen(kw_only=True)
class Evolver:
    """Changes the schema of one branch."""

    root: RepositoryRoot
    branch: BranchSession
    clock: Callable[[], datetime]

    def plan(self, wanted: GraphSchema) -> EvolvePlan:
        """Return what an evolve would do now."""
        return self._plan_on_head(wanted).plan

    def evolve(
        self, wanted: GraphSchema, *, actor: str | None, message: str | None, timeout: float
    ) -> GraphCommit | None:
        """Change the branch to a schema; return None if it has that schema already."""
        pin = self.branch.hold()
        first = self._plan_on_head(wanted)
        if first.plan.is_empty:
            return None
        intent = Intent(
            graph_commit_id=new_ulid(),
            changes=(),
            expected={},
            created_at=self.clock(),
            actor_id=actor,
            message=message,
        )
        operation = _SchemaChange(evolver=self, wanted=wanted, first=first, intent=intent)
        commit = self.branch.commit(operation, timeout=timeout, pin=pin)
        if commit is not None:
            emit("evolved", location=self.root.location, steps=len(first.plan.steps))
        return commit

    def plan_on(self, state: CatalogState, wanted: GraphSchema) -> _SchemaState:
        """Plan what leads from a state to a schema."""
        return _SchemaState(state=state, plan=plan_evolution(self._present(state), wanted))

    def _plan_on_head(self, wanted: GraphSchema) -> _SchemaState:
        _refuse_other_than_a_schema(wanted)
        self._refuse_internal()
        return self.plan_on(self.branch.catalog.refresh().state, wanted)

    def _refuse_internal(self) -> None:
        if is_hidden(self.branch.name):
            reason = "it is the branch of a run, and a run changes rows only"
            raise InvalidRequest(what=f"branch {self.branch.name!r}", reason=reason)

    def _present(self, state: CatalogState) -> Present:
        def opened(entry: TableEntry) -> tuple[NodeType | EdgeType, int]:
            with translate_table_errors(entry.table_key):
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


@attrs.frozen(kw_only=True)
class _SchemaChange:
    """The change of a schema, as an operation of the commit loop."""

    evolver: Evolver
    wanted: GraphSchema
    first: _SchemaState
    """The plan that the caller was, or could have been, shown."""
    intent: Intent
    expected: Mapping[str, int] = MappingProxyType({})

    def lineages(self, _lost: int) -> Collection[str]:
        """Return the lineages of the tables that change."""
        paths = {table_path(step.table_key) for step in self.first.plan.steps}
        return [lineage(path, self.evolver.branch.native) for path in sorted(paths)]

    def prepare(self, state: CatalogState) -> Prepared | None:
        """Write the versions of the wanted schema, if the plan is still the same."""
        plan = self._plan_again(state)
        if plan.is_empty:
            return None
        steps: dict[str, list[EvolveStep]] = {}
        for step in plan.steps:
            steps.setdefault(step.table_key, []).append(step)

        def prepared(key: str) -> tuple[Change | None, NewVersion | None]:
            with translate_table_errors(key):
                return self._change(state, key, steps[key])

        made = dict(zip(steps, self.evolver.root.at_once(prepared, steps), strict=True))
        return Prepared(
            changes=tuple(change for change, _ in made.values() if change is not None),
            versions={key: version for key, (_, version) in made.items() if version is not None},
            relies_on=frozenset({*steps, *plan.relies_on}),
        )

    def may_retry(self, _mismatch: ExpectedVersionMismatch) -> bool:
        """Return that the change may be made again: its plan decides."""
        return True

    def _plan_again(self, state: CatalogState) -> EvolvePlan:
        """Plan again; the plan must be the same, unless another writer has done all of it."""
        now = self.evolver.plan_on(state, self.wanted).plan
        if not now.is_empty:
            for step in _not_in_both(self.first.plan.steps, now.steps):
                raise ExpectedVersionMismatch(
                    table_key=step.table_key,
                    expected=self.first.state.latest(step.table_key),
                    actual=state.latest(step.table_key),
                )
        return now

    def _change(
        self, state: CatalogState, key: str, steps: list[EvolveStep]
    ) -> tuple[Change | None, NewVersion | None]:
        """Return the new declaration of a type, or its end, and the new version of its table."""
        if isinstance(steps[0], DropType):
            # One above what is visible: a writer that still expects that version is refused.
            above = state.tables[key].table_version + 1
            return TableTombstone(table_key=key, table_version=above), None
        columns = self.wanted[key].arrow_schema
        if isinstance(steps[0], AddType):
            root, branch = self.evolver.root, self.evolver.branch
            table = create_fork_table(root, branch, key, columns, above=state.floor(key))
            return _registration(key, self.wanted, {}), _version(None, table, columns)
        known = state.registrations[key].metadata
        if all(isinstance(step, ChangeIndexes) for step in steps):
            return _registration(key, self.wanted, known), None
        base = self.evolver.branch.lineage(state.tables[key])
        # Also where only the declaration changes there is a new version, so that a writer that
        # checked its rows against the old one is refused.
        if any(isinstance(step, ChangeEnds) for step in steps):
            table = empty_table(base, columns, above=base.version)
        else:
            dropped = [step.name for step in steps if isinstance(step, DropProperty)]
            added = [
                pa.field(step.name, step.type) for step in steps if isinstance(step, AddProperty)
            ]
            table = reshape_table(base, dropped, added)
            if table is base:
                table = redeclare_table(base)
        declares = any(isinstance(step, _DECLARING) for step in steps)
        change = _registration(key, self.wanted, known) if declares else None
        return change, _version(base, table, columns)


def _version(base: Table | None, table: Table, columns: pa.Schema) -> NewVersion:
    """Describe a version in which no row was added, changed or removed."""
    step = RowStep(before=base, after=table, facts=RowFacts())
    return NewVersion(table=table, steps=(step,), columns=columns)


def _refuse_other_than_a_schema(wanted: object) -> None:
    if not isinstance(wanted, GraphSchema):
        raise invalid_argument(wanted, "new_schema", "a GraphSchema")


def _not_in_both(
    some: tuple[EvolveStep, ...], others: tuple[EvolveStep, ...]
) -> Iterator[EvolveStep]:
    yield from (step for step in some if step not in others)
    yield from (step for step in others if step not in some)


def _registration(key: str, wanted: GraphSchema, before: Mapping[str, Any]) -> RegisterTable:
    unknown = {name: value for name, value in before.items() if name not in REGISTERED}
    metadata = {**unknown, **registration_metadata(wanted[key])}
    return RegisterTable(table_key=key, table_path=table_path(key), metadata=metadata)
