"""A snapshot: all tables as one commit left them.

Invariant: it never changes, whatever others publish. Data that was cleaned up raises
``SnapshotExpired``; wrong rows are never returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NoReturn

import pyarrow as pa
from lance import LanceDataset

from omnigraph_l1 import Storage, Table, VersionRecord
from omnigraph_l2._branch.read_targets import ReadTarget, share_table
from omnigraph_l2._catalog.catalog_state import (
    CatalogState,
    TableEntry,
    declared_indexes,
    empty_state,
    endpoints,
    unique_properties,
)
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._commit.leases import Pin
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._model.argument_checks import listed_ids, refuse_pickling
from omnigraph_l2._model.graph_schema import EdgeType, GraphSchema, NodeType
from omnigraph_l2._rows.data_problems import translate_data_errors
from omnigraph_l2._rows.incoming_rows import Incoming, incoming
from omnigraph_l2._rows.pinned_reads import translate_expired
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import CorruptRepository

__all__ = [
    "Snapshot",
    "beginning",
    "declared_type",
    "hold_of",
    "state_of",
    "storage_of",
    "table_of",
]

_GIVEN = {"node": ("id",), "edge": ("id", "src", "dst")}


class Snapshot:
    """The graph at one revision. Get one from ``repo.snapshot``."""

    def __init__(
        self,
        root: RepositoryRoot,
        branch: str,
        state: CatalogState,
        commit: GraphCommit | None,
        hold: Pin | None = None,
    ) -> None:
        self._root = root
        self._hold = hold
        self._state = state
        self.branch = branch
        """The name of the graph branch."""
        self.commit = commit
        """The commit that made it; None where there is no log."""

    @property
    def version(self) -> int:
        """The version of the catalog."""
        return self._state.version

    @property
    def tables(self) -> Mapping[str, TableEntry]:
        """The tables, by table key."""
        return self._state.tables

    @cached_property
    def schema(self) -> GraphSchema:
        """The types, as the tables have them."""
        keys = list(self.tables)
        columns = self._root.at_once(lambda key: self._open(key).schema, keys)
        types = [
            declared_type(self._state, key, schema)
            for key, schema in zip(keys, columns, strict=True)
        ]
        return GraphSchema(
            nodes=tuple(each for each in types if isinstance(each, NodeType)),
            edges=tuple(each for each in types if isinstance(each, EdgeType)),
        )

    def dataset(self, table_key: str) -> LanceDataset:
        """Return Lance's own handle on a table, pinned here. Only read with it.

        As long as it lives, what it reads is kept as this snapshot's is.
        """
        dataset = copy(self._open(table_key).dataset)  # moving the copy does not move our handle
        dataset.omnigraph_snapshot = self  # and with it the lease
        return dataset

    def scan(
        self,
        table_key: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002 - the name in the API contract
        *,
        batch_size: int | None = None,
    ) -> pa.RecordBatchReader:
        """Read rows in batches."""
        entry = self.entry(table_key)
        with translate_expired(self._root, entry):
            reader = self._open(table_key).scan(columns, filter, batch_size=batch_size)
        return pa.RecordBatchReader.from_batches(reader.schema, self._read_on(entry, reader))

    def read(
        self,
        table_key: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002
    ) -> pa.Table:
        """Read rows into memory."""
        return self.scan(table_key, columns, filter).read_all()

    def find(
        self, table_key: str, ids: Sequence[str], *, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Read rows by id, through the index where there is one."""
        with translate_expired(self._root, self.entry(table_key)):
            listed = list(listed_ids(table_key, ids))
            return self._open(table_key).find("id", listed, columns=columns)

    def history(self, table_key: str, *, limit: int | None = None) -> Iterator[VersionRecord]:
        """Return what Lance did to a table: one record for each version up to the one here.

        The newest comes first, and those that were cleaned up are left out. Versions are not
        commits of the graph: one commit may make several, and lost races leave some behind.
        """
        entry = self.entry(table_key)
        with translate_expired(self._root, entry):
            return self._records(entry, self._open(table_key).history(limit=limit))

    def fit_rows(
        self, table_key: str, data: Any, *, may_lack_nullable: bool = False
    ) -> pa.RecordBatchReader:
        """Return rows as a table takes them, or raise ``InvalidData`` with what is wrong with them.

        It is what ``append`` looks at before it writes, and writes nothing. With
        ``may_lack_nullable`` columns may be missing, as in an ``upsert``.
        """
        wanted = self._open(table_key).schema
        with translate_data_errors(table_key):
            coming = incoming(data, wanted, what=table_key, may_lack_nullable=may_lack_nullable)
        return pa.RecordBatchReader.from_batches(coming.schema, _translate(table_key, coming))

    def share(self, table_key: str) -> ReadTarget:
        """Return what other processes need to read a table as it is here.

        It keeps no lease: what it reads is kept as long as the retention, a tag or a branch does.
        """
        entry = self.entry(table_key)
        with translate_expired(self._root, entry):
            return share_table(self._open(table_key), table_key=table_key, count=entry.row_count)

    def _open(self, table_key: str) -> Table:
        entry = self.entry(table_key)
        if self._hold is not None:
            self._hold.outlive()
        with translate_table_errors(table_key):
            return self._root.open(
                entry.table_path, branch=entry.table_branch, version=entry.table_version
            )

    def entry(self, table_key: str) -> TableEntry:
        """Return the entry of a table, or raise ``UnknownTable``."""
        return self._state.entry(table_key)

    def _read_on(self, entry: TableEntry, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Read on and keep the lease alive, even if the caller has dropped the snapshot."""
        while True:
            try:
                with translate_expired(self._root, entry):
                    batch = reader.read_next_batch()
            except StopIteration:
                return
            yield batch

    def _records(
        self, entry: TableEntry, records: Iterator[VersionRecord]
    ) -> Iterator[VersionRecord]:
        """Yield the records and keep the lease of the snapshot alive while they are read."""
        while True:
            try:
                with translate_expired(self._root, entry):
                    record = next(records)
            except StopIteration:
                return
            yield record

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a snapshot", "send its branch and version, and take it there")

    def __repr__(self) -> str:
        return f"<Snapshot of {self.branch!r} at version {self.version}: {len(self.tables)} tables>"


def _translate(table_key: str, coming: Incoming) -> Iterator[pa.RecordBatch]:
    with translate_data_errors(table_key):
        yield from coming


def beginning(root: RepositoryRoot, branch: str, native: str | None) -> Snapshot:
    """Return the graph as it was before its first commit."""
    return Snapshot(root, branch, empty_state(root.location, native), None)


def state_of(snapshot: Snapshot) -> CatalogState:
    """Return the state of the catalog that a snapshot shows: for this package only."""
    return snapshot._state  # noqa: SLF001


def hold_of(snapshot: Snapshot) -> Pin | None:
    """Return what keeps the data of a snapshot: for this package only."""
    return snapshot._hold  # noqa: SLF001


def table_of(snapshot: Snapshot, table_key: str) -> Table:
    """Return a table of a snapshot as the layer below has it: for this package only."""
    with translate_expired(snapshot._root, snapshot.entry(table_key)):  # noqa: SLF001
        return snapshot._open(table_key)  # noqa: SLF001


def storage_of(snapshot: Snapshot, table_key: str) -> Storage:
    """Return the path of a table, with all its lineages: for this package only."""
    return snapshot._root.child(snapshot.entry(table_key).table_path)  # noqa: SLF001


def declared_type(state: CatalogState, table_key: str, schema: pa.Schema) -> NodeType | EdgeType:
    """Return the type that a table was declared as, from its columns and its ``table`` row."""
    kind, _, name = table_key.partition(":")
    given = _GIVEN.get(kind)
    if given is None or any(column not in schema.names for column in given):
        detail = f"its columns are {', '.join(schema.names)}, expected {given} among them"
        raise CorruptRepository(location=state.location, item=table_key, detail=detail)
    fields = [field for field in schema if field.name not in given]
    properties = {field.name: field.type for field in fields}
    required = tuple(field.name for field in fields if not field.nullable)
    declared: dict[str, Any] = {
        "properties": properties,
        "required": required,
        "unique": unique_properties(state, table_key),
        "indexes": declared_indexes(state, table_key),
    }
    if kind == "node":
        return NodeType(name, **declared)
    ends = endpoints(state, table_key)
    return EdgeType(name, ends.get("src"), ends.get("dst"), **declared)
