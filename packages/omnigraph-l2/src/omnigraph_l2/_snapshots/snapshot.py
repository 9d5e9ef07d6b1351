"""A snapshot: all tables as one commit left them.

Always: it never changes, whatever others publish. What was cleaned up under it is
``SnapshotExpired``, never wrong rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NoReturn

import pyarrow as pa
from lance import LanceDataset

from omnigraph_l1 import Storage, Table, VersionRecord
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.declarations import declared_indexes, endpoints, unique_properties
from omnigraph_l2._catalog.state import CatalogState, TableEntry, empty_state
from omnigraph_l2._data.incoming import Incoming, incoming
from omnigraph_l2._errors.translating import table_border
from omnigraph_l2._given import check_key, listed_ids, refuse_pickling
from omnigraph_l2._leases import Hold
from omnigraph_l2._schema import EdgeType, GraphSchema, NodeType
from omnigraph_l2._snapshots.expiring import expiring
from omnigraph_l2._snapshots.sharing import ReadTarget, shared
from omnigraph_l2._storage import Root
from omnigraph_l2._transactions.data_border import data_border
from omnigraph_l2.errors import CorruptRepository, UnknownTable

__all__ = ["Snapshot", "beginning", "declared_type", "hold_of", "place_of", "state_of", "table_of"]

_GIVEN = {"node": ("id",), "edge": ("id", "src", "dst")}


class Snapshot:
    """The graph at one moment. Get one from ``repo.snapshot``."""

    def __init__(
        self,
        root: Root,
        branch: str,
        state: CatalogState,
        commit: GraphCommit | None,
        hold: Hold | None = None,
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
        """Give Lance's own handle on a table, pinned here. Read with it; never write.

        As long as it lives, what it reads is kept as this snapshot's is.
        """
        dataset = copy(self._open(table_key).dataset)  # whoever moves it, moves no handle of ours
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
        with expiring(self._root, entry):
            reader = self._open(table_key).scan(columns, filter, batch_size=batch_size)
        return pa.RecordBatchReader.from_batches(reader.schema, self._told(entry, reader))

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
        with expiring(self._root, self.entry(table_key)):
            listed = list(listed_ids("Finding in", table_key, ids))
            return self._open(table_key).find("id", listed, columns=columns)

    def history(self, table_key: str, *, limit: int | None = None) -> Iterator[VersionRecord]:
        """Tell what Lance did to a table: one record for each version up to the one here.

        The newest comes first, and those that were cleaned up are left out. Versions are not
        commits of the graph: one commit may make several, and lost races leave some behind.
        """
        entry = self.entry(table_key)
        with expiring(self._root, entry):
            return self._recorded(entry, self._open(table_key).history(limit=limit))

    def fitted(
        self, table_key: str, data: Any, *, may_lack_nullable: bool = False
    ) -> pa.RecordBatchReader:
        """Give rows as a table takes them, or raise ``InvalidData`` with what is wrong with them.

        It is what ``append`` looks at before it writes, and writes nothing. With
        ``may_lack_nullable`` columns may be missing, as in an ``upsert``.
        """
        wanted = self._open(table_key).schema
        with data_border(table_key):
            coming = incoming(data, wanted, what=table_key, may_lack_nullable=may_lack_nullable)
        return pa.RecordBatchReader.from_batches(coming.schema, _bordered(table_key, coming))

    def share(self, table_key: str) -> ReadTarget:
        """Give what other processes need to read a table as it is here.

        It keeps no lease: what it reads is kept as long as the retention, a tag or a branch does.
        """
        entry = self.entry(table_key)
        with expiring(self._root, entry):
            return shared(self._open(table_key), table_key=table_key, count=entry.row_count)

    def _open(self, table_key: str) -> Table:
        entry = self.entry(table_key)
        with table_border(table_key):
            return self._root.open(
                entry.table_path, branch=entry.table_branch, version=entry.table_version
            )

    def entry(self, table_key: str) -> TableEntry:
        """Give the entry of a table, or raise ``UnknownTable``."""
        check_key(table_key, self.tables)
        entry = self.tables.get(table_key)
        if entry is None:
            raise UnknownTable(table_key=table_key, known=tuple(self.tables))
        return entry

    def _told(self, entry: TableEntry, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Read on, and hold on to what is read, also when nobody else holds the snapshot."""
        while True:
            try:
                with expiring(self._root, entry):
                    batch = reader.read_next_batch()
            except StopIteration:
                return
            yield batch

    def _recorded(
        self, entry: TableEntry, records: Iterator[VersionRecord]
    ) -> Iterator[VersionRecord]:
        """Hold on to the snapshot while it is told what made it."""
        while True:
            try:
                with expiring(self._root, entry):
                    record = next(records)
            except StopIteration:
                return
            yield record

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a snapshot", "send its branch and version, and take it there")

    def __repr__(self) -> str:
        return f"<Snapshot of {self.branch!r} at version {self.version}: {len(self.tables)} tables>"


def _bordered(table_key: str, coming: Incoming) -> Iterator[pa.RecordBatch]:
    with data_border(table_key):
        yield from coming


def beginning(root: Root, branch: str, native: str | None) -> Snapshot:
    """Give the graph as it was before its first commit."""
    return Snapshot(root, branch, empty_state(root.place, native), None)


def state_of(snapshot: Snapshot) -> CatalogState:
    """Give the state of the catalog that a snapshot shows: for this package only."""
    return snapshot._state  # noqa: SLF001


def hold_of(snapshot: Snapshot) -> Hold | None:
    """Give what keeps the data of a snapshot: for this package only."""
    return snapshot._hold  # noqa: SLF001


def table_of(snapshot: Snapshot, table_key: str) -> Table:
    """Give a table of a snapshot as the layer below has it: for this package only."""
    with expiring(snapshot._root, snapshot.entry(table_key)):  # noqa: SLF001
        return snapshot._open(table_key)  # noqa: SLF001


def place_of(snapshot: Snapshot, table_key: str) -> Storage:
    """Tell where a table lies, all lineages of it: for this package only."""
    return snapshot._root.child(snapshot.entry(table_key).table_path)  # noqa: SLF001


def declared_type(state: CatalogState, table_key: str, schema: pa.Schema) -> NodeType | EdgeType:
    """Tell the type that a table was declared as, from its columns and its ``table`` row."""
    kind, _, name = table_key.partition(":")
    given = _GIVEN.get(kind)
    if given is None or any(column not in schema.names for column in given):
        detail = f"its columns are {', '.join(schema.names)}, expected {given} among them"
        raise CorruptRepository(place=state.place, item=table_key, detail=detail)
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
