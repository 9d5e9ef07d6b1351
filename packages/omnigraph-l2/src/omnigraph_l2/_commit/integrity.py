"""The integrity rules of a graph, derived from what a publish changes against its state.

The rules: the columns of a table are those that are declared; ids are unique; declared unique
properties are; required properties are not null; the node types at the ends of an edge type exist,
and both ends of each edge. They are the same for every operation. What an operation knows of its
own rows (``RowFacts``) saves reading them again; where it knows nothing, the published version of a
table and the new one are compared.

Invariant: the answer is exact for the versions that were read. The caller publishes only while all
of them, and all declarations, are what they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1 import Table
from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._catalog.catalog_state import (
    CatalogState,
    TableEntry,
    endpoints,
    unique_properties,
)
from omnigraph_l2._commit.commit_operation import NewVersion, Prepared, RowFacts, RowStep
from omnigraph_l2._commit.unique_integrity import check_unique
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._rows.change_candidates import ChangeCandidates, find_candidates
from omnigraph_l2._rows.data_problems import translate_data_errors
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._rows.pinned_reads import (
    IdLookup,
    changed_ids,
    is_same_pin,
    open_pinned,
    present,
    translate_read_errors,
)
from omnigraph_l2._store.manifest_store import ManifestStore
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import (
    DanglingEdges,
    DataProblem,
    DuplicateIds,
    ExpectedVersionMismatch,
    InvalidChange,
    InvalidData,
    InvalidSchema,
    SnapshotExpired,
)

__all__ = ["ENDS", "check_integrity", "node_tables_of"]

ENDS: Final = ("src", "dst")
_SHOWN: Final = 10
_AT_ONCE: Final = 262_144
_NOTHING_DONE: Final = RowFacts()
_KEYS: Final = {"node": ("id",), "edge": ("id", *ENDS)}


def check_integrity(
    root: RepositoryRoot,
    catalog: ManifestStore,
    before: CatalogState,
    after: CatalogState,
    prepared: Prepared,
) -> frozenset[str]:
    """Raise if a publish would break a rule; return the tables that were read to find out.

    ``before`` is the state that it is published on, ``after`` the one that it makes.
    """
    with ExitStack() as held:
        check = _Check(
            root=root, catalog=catalog, before=before, after=after, prepared=prepared, held=held
        )
        root.at_once(check.check_table, check.changed)
        check.check_declarations()
        if prepared.check_ends:
            check.check_ends()
        return frozenset(check.read)


def node_tables_of(state: CatalogState, edge_key: str, column: str) -> tuple[str, ...]:
    """Return the node tables that may contain an end of an edge."""
    named = endpoints(state, edge_key).get(column)
    if named is not None:
        return (f"node:{named}",)
    # Declared by another publisher: the end may be any node.
    return tuple(key for key in state.tables if key.startswith("node:"))


@attrs.frozen(kw_only=True)
class _NewRows:
    """The rows of a newer version that an older one may lack."""

    ids: IdSet
    ends: tuple[IdSet, IdSet]


@attrs.define(eq=False, kw_only=True)
class _Check:
    """The check of one publish."""

    root: RepositoryRoot
    catalog: ManifestStore
    before: CatalogState
    after: CatalogState
    prepared: Prepared
    held: ExitStack
    read: set[str] = attrs.field(factory=set)
    changed: list[str] = attrs.field(init=False)
    """The tables that have another version, or another declaration, than before."""
    dropped: list[str] = attrs.field(init=False)
    _lookups: IdLookup = attrs.field(init=False)
    _candidates: dict[tuple[str, int], ChangeCandidates] = attrs.field(factory=dict, init=False)
    _new: dict[tuple[str, int], _NewRows] = attrs.field(factory=dict, init=False)
    _old: dict[tuple[str, int], IdSet] = attrs.field(factory=dict, init=False)

    @_lookups.default
    def _make_lookups(self) -> IdLookup:
        return IdLookup(self.root.known_ids)

    @changed.default
    def _find_changed(self) -> list[str]:
        return [
            key
            for key, entry in self.after.tables.items()
            if entry != self.before.tables.get(key) or self._is_redeclared(key)
        ]

    @dropped.default
    def _find_dropped(self) -> list[str]:
        return sorted(self.before.tables.keys() - self.after.tables.keys())

    def _is_redeclared(self, key: str) -> bool:
        return self.before.registration(key) != self.after.registration(key)

    # One table.

    def check_table(self, key: str) -> None:
        """Check what concerns one table alone."""
        with translate_data_errors(key), translate_table_errors(key):
            table, base = self._table(key), self._base(key)
            version = self.prepared.versions.get(key) or NewVersion(table=table)
            self._check_columns(key, version, base)
            if base is None or not is_same_pin(self.before.tables[key], self.after.tables[key]):
                for number, step in enumerate(self._steps(key)):
                    self._check_step(key, number, step)
                self._check_same_rows(key)
            self._check_unique(key, base, table)

    def _check_same_rows(self, key: str) -> None:
        """Raise if a version takes the number of the visible one, and has other rows.

        Who expects that number would not notice.
        """
        number = self.after.latest(key)
        if number == self.before.latest(key) and not self._changes_no_row(key):
            reason = f"version {number} is in the catalog already, with other rows"
            raise InvalidChange(table_key=key, reason=reason)

    def _check_columns(self, key: str, version: NewVersion, base: Table | None) -> None:
        found = version.table.schema
        keys = _KEYS[key.partition(":")[0]]
        for name in keys:
            field = found.field(name) if name in found.names else None
            if field is None or field.type != pa.string() or field.nullable:
                reason = (
                    f"its version {version.table.version} has no column {name}: string not null"
                )
                raise InvalidChange(table_key=key, reason=reason)
        declared = version.columns
        if declared is None and base is not None:
            declared = base.schema
        if declared is not None and _columns(declared) != _columns(found):
            differing = sorted({*_columns(declared).items()} ^ {*_columns(found).items()}, key=str)
            names = ", ".join(dict.fromkeys(name for name, _ in differing))
            reason = f"its version {version.table.version} has other columns than declared: {names}"
            raise InvalidChange(table_key=key, reason=reason)

    def _steps(self, key: str) -> Sequence[RowStep]:
        version = self.prepared.versions.get(key)
        if version is not None and version.steps is not None:
            return version.steps
        base, table = self._base(key), self._table(key)
        return (RowStep(before=base, after=table),)

    def _check_step(self, key: str, number: int, step: RowStep) -> None:
        facts = step.facts
        if facts is not None:
            if facts.new_ids is not None:
                self._check_new_ids(key, step, facts.new_ids, known=None)
            return
        if step.checked_at is None:
            new, old = self._new_rows(key, number, step).ids, self._old_ids(key, number, step)
            self._check_new_ids(key, step, new, known=old)
            return
        with self._changed_since(key, step.checked_at) as others:
            if len(others):
                new, old = self._new_rows(key, number, step).ids, self._old_ids(key, number, step)
                with _common(new, others) as in_both:
                    self._check_new_ids(key, step, in_both, known=old)

    def _check_new_ids(self, key: str, step: RowStep, new: IdSet, *, known: IdSet | None) -> None:
        """Raise if ids are repeated, or exist in rows other than those that were replaced."""
        repeated = new.find_repeated(_SHOWN)
        existing: list[str] = []
        replaces_all = step.facts is not None and step.facts.replaces_all
        if step.before is not None and step.before.count() and not replaces_all:
            for batch in new.batches(_AT_ONCE):
                hits = self._lookups.present(step.before, batch)
                if known is not None and len(hits):
                    hits = _without(hits, known)
                existing += hits.slice(0, _SHOWN).to_pylist()
                if len(existing) >= _SHOWN:
                    break
        latest = self.before.latest(key)
        if existing and step.staged_on not in {None, latest}:
            # Where the rows were looked up, these ids did not exist: another writer was faster.
            raise ExpectedVersionMismatch(
                table_key=key, expected=step.staged_on or 0, actual=latest
            )
        if repeated or existing:
            raise DuplicateIds(
                table_key=key, existing=tuple(existing[:_SHOWN]), repeated=tuple(repeated)
            )

    def _check_unique(self, key: str, base: Table | None, table: Table) -> None:
        declared = unique_properties(self.after, key)
        if not declared or (base is not None and table is base and not self._is_redeclared(key)):
            return
        known = unique_properties(self.before, key) if base is not None else ()
        if base is not None and not self._changes_no_row(key):
            check_unique(key, [name for name in declared if name in known], base, table)
        check_unique(key, [name for name in declared if name not in known], None, table)

    def _changes_no_row(self, key: str) -> bool:
        """Return whether the new version only stores its rows differently."""
        steps = self._steps(key)
        return all(
            step.facts == _NOTHING_DONE
            if step.facts is not None
            else step.checked_at is None
            and not len(self._new_rows(key, number, step).ids)
            and not len(self._old_ids(key, number, step))
            for number, step in enumerate(steps)
        )

    def _compare(self, key: str, number: int, step: RowStep) -> ChangeCandidates | None:
        if step.before is None:
            return None
        found = self._candidates.get((key, number))
        if found is None:
            found = self._candidates[key, number] = find_candidates(step.before, step.after)
        return found

    def _new_rows(self, key: str, number: int, step: RowStep) -> _NewRows:
        found = self._new.get((key, number))
        if found is None:
            found = _NewRows(ids=self._hold(), ends=(self._hold(), self._hold()))
            required = [field.name for field in step.after.schema if not field.nullable]
            compared = self._compare(key, number, step)
            batches: Iterable[pa.RecordBatch] = (
                step.after.scan(columns=required)
                if compared is None
                else compared.after.batches(required)
            )
            for batch in batches:
                _refuse_nulls(key, batch)
                found.ids.add(batch.column("id"))
                if key.startswith("edge:"):
                    for column, ends in zip(ENDS, found.ends, strict=True):
                        ends.add(batch.column(column))
            self._new[key, number] = found
        return found

    def _old_ids(self, key: str, number: int, step: RowStep) -> IdSet:
        found = self._old.get((key, number))
        if found is None:
            found = self._hold()
            compared = self._compare(key, number, step)
            for batch in () if compared is None else compared.before.batches(["id"]):
                found.add(batch.column(0))
            self._old[key, number] = found
        return found

    def _hold(self) -> IdSet:
        return self.held.enter_context(IdSet())

    # Edges and their ends.

    def check_declarations(self) -> None:
        """Raise if an edge type that is changed now has an end in no visible node type."""
        problems = []
        for key in self.after.tables if self.dropped else self.changed:
            if not key.startswith("edge:"):
                continue
            is_new = key not in self.before.tables or self._is_redeclared(key)
            for name in dict.fromkeys(endpoints(self.after, key).values()):
                node_key = f"node:{name}"
                if node_key not in self.after.tables and (is_new or node_key in self.dropped):
                    problems.append(f"{key} ends at {node_key}, which is not there")
        if problems:
            raise InvalidSchema(problems=tuple(problems))

    def check_ends(self) -> None:
        """Raise if an edge would end at a node that does not exist."""
        for key in self.changed:
            if key.startswith("edge:"):
                self._check_edges(key)
            elif key in self.before.tables:
                self._check_nodes(key)
        for key in self.dropped:
            if key.startswith("node:"):
                self._check_dropped_nodes(key)

    def _check_edges(self, key: str) -> None:
        moved = key not in self.before.tables or (
            endpoints(self.before, key) != endpoints(self.after, key)
        )
        if moved:
            table = self._table(key)
            if not table.count():
                return
            with IdSet() as sources, IdSet() as targets:
                for batch in table.scan(columns=list(ENDS)):
                    sources.add(batch.column(0))
                    targets.add(batch.column(1))
                self._refuse_missing(key, (sources, targets))
            return
        for number, step in enumerate(self._steps(key)):
            if step.checked_at is not None and self._had_same_ends(key, step.checked_at):
                self._check_nodes_since(key, step.checked_at)
            elif step.facts is None:
                self._refuse_missing(key, self._new_rows(key, number, step).ends)
            elif step.facts.new_ends is not None:
                self._refuse_missing(key, step.facts.new_ends)

    def _check_nodes(self, key: str) -> None:
        if is_same_pin(self.before.tables[key], self.after.tables[key]):
            return
        for number, step in enumerate(self._steps(key)):
            if step.checked_at is not None:
                self._check_edges_since(key, step.checked_at)
            elif step.facts is None or step.facts.removes_rows:
                pointing = self._pointing_at(key)
                if pointing:
                    self._refuse_removed(key, self._old_ids(key, number, step), pointing)

    def _check_dropped_nodes(self, key: str) -> None:
        pointing = self._pointing_at(key)
        if pointing:
            with IdSet() as removed:
                for batch in open_pinned(self.root, self.before.tables[key]).scan(["id"]):
                    removed.add(batch.column(0))
                self._refuse_removed(key, removed, pointing)

    def _pointing_at(self, node_key: str) -> list[tuple[str, str]]:
        """Return the edge tables, and which of their ends, that may point to a node table."""
        return [
            (key, column)
            for key in self.after.tables
            if key.startswith("edge:")
            for column in ENDS
            if node_key in {*node_tables_of(self.after, key, column)}
            or (not endpoints(self.after, key).get(column) and node_key in self.before.tables)
        ]

    def _refuse_missing(self, key: str, ends: tuple[IdSet, IdSet]) -> None:
        for column, found in zip(ENDS, ends, strict=True):
            self._refuse_missing_ends(key, column, found)

    def _refuse_missing_ends(self, key: str, column: str, ends: IdSet) -> None:
        """Raise if edges name ends that no node has."""
        names = node_tables_of(self.after, key, column)
        for batch in ends.batches(_AT_ONCE):
            absent = self._missing(names, batch.unique())
            if len(absent):
                # An edge that was added and taken away again names nothing.
                absent = present(self._table(key), column, absent)
            if len(absent):
                raise _dangling(key, column, names, absent)

    def _refuse_removed(
        self, node_key: str, removed: IdSet, pointing: Iterable[tuple[str, str]]
    ) -> None:
        """Raise if edges still point to nodes that are removed."""
        listed = list(pointing)
        for batch in removed.batches(_AT_ONCE):
            gone = self._missing((node_key,), batch.unique())
            for edge_key, column in listed:
                names = node_tables_of(self.after, edge_key, column)
                elsewhere = self._missing([name for name in names if name != node_key], gone)
                if len(elsewhere):
                    used = present(self._table(edge_key), column, elsewhere)
                    if len(used):
                        raise _dangling(edge_key, column, names, used)

    def _missing(self, node_keys: Iterable[str], ids: pa.Array) -> pa.Array:
        """Return those of the ids that none of some node tables has."""
        for name in node_keys:
            if len(ids) and name in self.after.tables:
                ids = self._lookups.missing(self._table(name), ids)
        return ids

    # Evidence: only what others published since it was collected is checked.

    def _check_nodes_since(self, key: str, since: int) -> None:
        """Check that others removed no node to which edges point that the caller has verified."""
        names = {name for column in ENDS for name in node_tables_of(self.after, key, column)}
        for name in sorted(names & self.after.tables.keys()):
            self.read.add(name)
            with self._changed_since(name, since) as removed:
                pointing = [
                    (key, column)
                    for column in ENDS
                    if name in node_tables_of(self.after, key, column)
                ]
                if len(removed):
                    self._refuse_removed(name, removed, pointing)

    def _check_edges_since(self, node_key: str, since: int) -> None:
        """Check that nodes which the caller has verified to be removable still are.

        Others may have added an edge, or taken away the node of another table that it could name.
        """
        for edge_key, column in self._pointing_at(node_key):
            self.read.add(edge_key)
            with self._ends_since(edge_key, column, since) as ends:
                self._refuse_missing_ends(edge_key, column, ends)
            for other in self._others_at(edge_key, column, since) - {node_key}:
                self.read.add(other)
                with self._changed_since(other, since) as gone:
                    self._refuse_removed(other, gone, [(edge_key, column)])

    def _others_at(self, edge_key: str, column: str, since: int) -> set[str]:
        """Return the node tables that may have had an end, where it is not declared which does."""
        if endpoints(self.after, edge_key).get(column):
            return set()
        tables = self._state_at(since).tables.keys() | self.after.tables.keys()
        return {key for key in tables if key.startswith("node:")}

    def _had_same_ends(self, key: str, since: int) -> bool:
        """Return whether an edge type had the same ends in a version of the graph."""
        return endpoints(self._state_at(since), key) == endpoints(self.after, key)

    def _changed_since(self, key: str, since: int) -> IdSet:
        """Return ids whose rows others may have changed since a version of the graph."""
        return changed_ids(self.root, self._entry_at(key, since), self.before.tables.get(key))

    def _ends_since(self, key: str, column: str, since: int) -> IdSet:
        """Return the ends of edges that others may have added since a version of the graph."""
        then, now = self._entry_at(key, since), self.before.tables.get(key)
        if not self._had_same_ends(key, since):
            then = None  # each edge ends at a node of another type now
        found = IdSet()
        if now is not None and not is_same_pin(then, now):
            with translate_read_errors(self.root, then, now):
                table = open_pinned(self.root, now)
                batches: Iterable[pa.RecordBatch] = (
                    table.scan(columns=[column])
                    if then is None
                    else find_candidates(open_pinned(self.root, then), table).after.batches(
                        [column]
                    )
                )
                for batch in batches:
                    found.add(batch.column(0))
        return found

    def _entry_at(self, key: str, version: int) -> TableEntry | None:
        return self._state_at(version).tables.get(key)

    def _state_at(self, version: int) -> CatalogState:
        try:
            return self.catalog.at(version).state
        except NoSuchVersion as error:
            raise SnapshotExpired(branch=self.catalog.name, version=version) from error

    # Reading.

    def _base(self, key: str) -> Table | None:
        entry = self.before.tables.get(key)
        return None if entry is None else open_pinned(self.root, entry)

    def _table(self, key: str) -> Table:
        """Return a table as the publish leaves it."""
        self.read.add(key)
        version = self.prepared.versions.get(key)
        return open_pinned(self.root, self.after.tables[key]) if version is None else version.table


def _columns(schema: pa.Schema) -> dict[str, tuple[pa.DataType, bool]]:
    return {field.name: (field.type, field.nullable) for field in schema}


def _refuse_nulls(key: str, batch: pa.RecordBatch) -> None:
    problems = [
        DataProblem(name, "is null, and is required")
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
        if column.null_count
    ]
    if problems:
        raise InvalidData(table_key=key, problems=tuple(problems))


def _without(ids: pa.Array, known: IdSet) -> pa.Array:
    for some in known.batches(_AT_ONCE):
        ids = ids.filter(pc.invert(pc.is_in(ids, value_set=some)))
    return ids


def _common(some: IdSet, others: IdSet) -> IdSet:
    """Return the ids that are in both, each once. The caller closes the set."""
    found = IdSet()
    for wanted in others.batches(_AT_ONCE):
        for ids in some.batches(_AT_ONCE):
            found.add(ids.filter(pc.is_in(ids, value_set=wanted)))
    return found


def _dangling(
    edge_key: str, column: str, node_keys: Iterable[str], absent: pa.Array
) -> DanglingEdges:
    shown = tuple(absent.slice(0, _SHOWN).to_pylist())
    return DanglingEdges(
        table_key=edge_key, column=column, node_tables=tuple(node_keys), missing=shown
    )
