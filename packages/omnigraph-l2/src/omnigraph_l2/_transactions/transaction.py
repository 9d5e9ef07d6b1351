"""A transaction: changes of several tables that become visible together, or not at all.

Always: what it publishes is its pinned version of each table plus its own changes; every table that
it wrote, expected, or looked at for a check is still as it was seen, at the moment of the publish.
A race that was lost is run again where that gives the same result. An exception publishes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l1 import Table, new_ulid
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._catalog.changes import Intent
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.planning import check_expectations, operation_digest
from omnigraph_l2._catalog.state import CatalogState
from omnigraph_l2._data.ids import IdSet
from omnigraph_l2._data.incoming import Incoming, incoming
from omnigraph_l2._data.spool import Spool
from omnigraph_l2._events import emit
from omnigraph_l2._given import check_key, listed_ids
from omnigraph_l2._leases import Hold
from omnigraph_l2._publishing.turns import Turns
from omnigraph_l2._snapshots import Snapshot
from omnigraph_l2._storage import Root
from omnigraph_l2._transactions.attempt import Attempt, Prepared
from omnigraph_l2._transactions.data_border import data_border
from omnigraph_l2._transactions.edges import ENDS
from omnigraph_l2._transactions.held import held, read_on
from omnigraph_l2._transactions.lookups import Lookups
from omnigraph_l2._transactions.operations import (
    Append,
    DeleteIds,
    DeleteWhere,
    Operation,
    Overwrite,
    Upsert,
)
from omnigraph_l2._transactions.others import Others
from omnigraph_l2._transactions.reads import Reads
from omnigraph_l2._transactions.staging import Staging
from omnigraph_l2._transactions.working import WorkingTable
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    InvalidFilter,
    InvalidRequest,
    OperationRepeated,
    TransactionClosed,
    UnknownBranch,
)

__all__ = ["Author", "Transaction"]


@attrs.frozen(kw_only=True)
class Author:
    """What a commit says of itself."""

    actor: str | None = None
    message: str | None = None
    operation_hash: str | None = None
    run_id: str | None = None


class Transaction(Staging):
    """Changes that become visible together. Get one from ``repo.transaction``; use it once."""

    def __init__(
        self,
        branch: GraphBranch,
        *,
        root: Root,
        turns: Turns,
        clock: Callable[[], Any],
        author: Author,
        check_edges: bool,
        timeout: float,
    ) -> None:
        self._branch = branch
        self._root = root
        self._turns = turns
        self._clock = clock
        self._author = author
        self._check_edges = check_edges
        self._timeout = timeout
        self._state: CatalogState | None = None
        self._working: dict[str, WorkingTable] = {}
        self._expected: dict[str, int] = {}
        self._read: set[str] = set()
        self._ended = "not begun"
        self._hold: Hold | None = None
        self._repeats: GraphCommit | None = None
        self._lookups = Lookups(root.known_ids)
        self._reads = Reads(branch)
        self._commit_id = new_ulid()
        self.commit: GraphCommit | None = None
        """What was published; None before that, or where nothing was changed."""

    def __enter__(self) -> Transaction:  # noqa: PYI034  # Self needs Python 3.11
        if self._ended != "not begun":
            raise TransactionClosed(what="transaction", state=self._ended)
        self._root.check_open()
        with self._branch.border():
            self._hold = self._branch.hold()
            self._state = self._branch.catalog.refresh().state
            version = self._state.version
            self._hold.settle(self._branch.native, version, is_head=True, writes=True)
            self._repeats = self._done_before(self._state)
        self._ended = ""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                with self._border():
                    self.commit = self._repeats or self._commit()
                self._ended = "committed"
            else:
                self._ended = "abandoned"
            with self._branch.border():
                self._reads.keep()
        except UnknownBranch as gone:
            self._ended = "failed"
            raise UnknownBranch(place=self._root.place, branch=self._branch.name) from gone
        except BaseException:
            self._ended = "failed"
            raise
        finally:
            self._hold = None
            for working in self._working.values():
                working.close()

    @property
    def commit_id(self) -> str:
        """The id that the commit will have. After ``CommitOutcomeUnknown``, look for it."""
        return self._commit_id

    @property
    def is_repeat(self) -> bool:
        """Whether the operation was done before: then nothing of this will be done again."""
        return self._repeats is not None

    @property
    def snapshot(self) -> Snapshot:
        """The graph as this transaction found it, without its own changes."""
        state = self._open_state()
        with self._branch.border():
            head = self._branch.head(state)
            return Snapshot(self._root, self._branch.name, state, head, self._hold)

    # Changing.

    def append(self, table_key: str, data: Any) -> None:
        """Add rows with new ids."""
        working, coming = self._incoming(table_key, data)
        written, ids, ends = self._write(working, coming)
        self._do(working, Append(written=written, ids=ids, ends=ends))

    def overwrite(self, table_key: str, data: Any) -> None:
        """Replace all rows."""
        working, coming = self._incoming(table_key, data)
        written, ids, ends = self._write(working, coming)
        self._do(working, Overwrite(written=written, ids=ids, ends=ends))

    def upsert(self, table_key: str, data: Any) -> None:
        """Replace rows by id, and add the others. A nullable column that is not given is kept."""
        working, coming = self._incoming(table_key, data, may_lack_nullable=True)
        rows, ends = Spool(coming.schema, coming), self._ends(table_key)
        with data_border(table_key):
            for batch in rows:
                _collect(ends, batch)
        self._do(working, Upsert(rows=rows, ends=ends))

    def delete(
        self, table_key: str, predicate: str | None = None, *, ids: Iterable[str] | None = None
    ) -> None:
        """Delete the rows that a filter matches, or those with these ids."""
        if (predicate is None) == (ids is None):
            reason = "say either which rows match, or which ids; 'true' matches every row"
            raise InvalidRequest(what=f"Deleting from {table_key}", reason=reason)
        working = self._table(table_key)
        if predicate is not None:
            given: object = predicate
            if not isinstance(given, str):
                reason = 'a filter is text, as in "age > 3"'
                raise InvalidFilter(table_key=table_key, filter=repr(given), reason=reason)
            with self._border(table_key):
                working.base.count(predicate)  # an invalid filter is told here, not at the end
            self._do(working, DeleteWhere(predicate=predicate))
        else:
            self._do(working, DeleteIds(ids=listed_ids("Deleting from", table_key, ids)))

    # Reading and expecting.

    def read(
        self,
        table_key: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002 - the name in the API contract
    ) -> pa.Table:
        """Read rows, with what this transaction did to them so far."""
        with self._border(table_key):
            return self._current(table_key).read(columns, filter)

    def scan(
        self,
        table_key: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002
    ) -> pa.RecordBatchReader:
        """Read the same in batches."""
        with self._border(table_key):
            reader = self._current(table_key).scan(columns, filter)
        return read_on(reader, lambda: self._border(table_key))

    def expect(self, table_key: str, version: int | None = None) -> None:
        """Publish only if this table is then still at a version: the one that is seen here."""
        state = self._open_state()
        check_key(table_key, state.tables)
        seen = state.latest(table_key)
        if version is not None and version != seen:
            raise ExpectedVersionMismatch(table_key=table_key, expected=version, actual=seen)
        self._expected[table_key] = seen
        self._reads.add(table_key)

    # Inside.

    @contextmanager
    def _border(self, table_key: str | None = None) -> Iterator[None]:
        with held(self._hold), self._branch.border(table_key):
            yield

    def _open_state(self) -> CatalogState:
        self._root.check_open()
        if self._ended or self._state is None:
            raise TransactionClosed(what="transaction", state=self._ended or "not begun")
        return self._state

    def _table(self, table_key: str) -> WorkingTable:
        state = self._open_state()
        check_key(table_key, state.tables)
        working = self._working.get(table_key)
        if working is None:
            entry = Snapshot(self._root, self._branch.name, state, None).entry(table_key)
            with self._border(table_key):
                base = self._branch.lineage(entry)
            working = WorkingTable(
                entry=entry,
                lookups=self._lookups,
                others=Others(self._root, self._branch),
                base=base,
                current=base,
                checks_ends=self._check_edges,
                was_read=table_key in self._read,
            )
            self._working[table_key] = working
            self._reads.add(table_key)
        return working

    def _current(self, table_key: str) -> Table:
        state = self._open_state()
        check_key(table_key, state.tables)
        self._read.add(table_key)
        working = self._working.get(table_key)
        if working is not None and working.operations:
            working.was_read = True
            with data_border(table_key):
                return working.apply()
        entry = Snapshot(self._root, self._branch.name, state, None).entry(table_key)
        if working is not None:
            working.was_read = True
        self._reads.add(table_key)
        return self._root.open(
            entry.table_path, branch=entry.table_branch, version=entry.table_version
        )

    @property
    def _seen(self) -> int:
        return self._open_state().version

    def _do(self, working: WorkingTable, operation: Operation) -> None:
        working.operations.append(operation)

    def _incoming(
        self, table_key: str, data: Any, *, may_lack_nullable: bool = False
    ) -> tuple[WorkingTable, Incoming]:
        working = self._table(table_key)
        with data_border(table_key):
            coming = incoming(
                data,
                working.base.schema,
                what=table_key,
                may_lack_nullable=may_lack_nullable,
            )
        return working, coming

    def _write(
        self, working: WorkingTable, coming: Incoming
    ) -> tuple[tuple[Any, ...], IdSet, tuple[IdSet, IdSet] | None]:
        ids, ends = IdSet(), self._ends(working.key)

        def passing() -> Iterable[pa.RecordBatch]:
            for batch in coming:
                ids.add(batch.column("id"))
                _collect(ends, batch)
                yield batch

        reader = pa.RecordBatchReader.from_batches(coming.schema, passing())
        with data_border(working.key), self._border(working.key):
            written = working.base.write(reader)
        return (written,), ids, ends

    def _ends(self, table_key: str) -> tuple[IdSet, IdSet] | None:
        return (IdSet(), IdSet()) if table_key.startswith("edge:") and self._check_edges else None

    def _commit(self) -> GraphCommit | None:
        state = self._open_state()
        if not any(working.operations for working in self._working.values()):
            if self._expected:
                check_expectations(
                    self._branch.catalog.refresh().state, self._expected, visible=True
                )
            return None
        attempt = Attempt(
            self._branch,
            root=self._root,
            working=self._working,
            expected=self._expected,
            check_edges=self._check_edges,
            lookups=self._lookups,
            reads=self._reads,
            others=Others(self._root, self._branch),
        )
        deadline = time.monotonic() + self._timeout
        lost = 0
        while True:
            with self._turns.take(attempt.lineages, lost=lost):
                state = self._branch.catalog.refresh().state
                earlier = self._done_before(state)
                if earlier is not None:
                    return earlier
                attempt.follow(state)
                prepared = attempt.prepared(state)
                if prepared is None:
                    return None
                intent, left = self._intent(prepared, state), deadline - time.monotonic()
                try:
                    return self._branch.publish(intent, timeout=max(1.0, left), hold=self._hold)
                except OperationRepeated:
                    pass  # somebody did it at this very moment: it is found when looked for again
                except ExpectedVersionMismatch as mismatch:
                    if not attempt.may_run_again(mismatch) or time.monotonic() > deadline:
                        raise
            lost += 1
            emit("transaction_retry", place=self._root.place, lost=lost)

    def _done_before(self, state: CatalogState) -> GraphCommit | None:
        if self._author.operation_hash is None:
            return None
        commit_id = self._branch.operation(state, operation_digest(self._author.operation_hash))
        return None if commit_id is None else self._branch.find(commit_id)

    def _intent(self, prepared: Prepared, seen: CatalogState) -> Intent:
        return Intent(
            graph_commit_id=self._commit_id,
            changes=prepared.changes,
            expected=prepared.expected,
            expects_visible=True,
            created_at=self._clock(),
            actor_id=self._author.actor,
            message=self._author.message,
            run_id=self._author.run_id,
            operation_hash=self._author.operation_hash,
            not_done_through=seen.last_sequence,
            reads=self._reads.to_keep,
        )


def _collect(ends: tuple[IdSet, IdSet] | None, batch: pa.RecordBatch) -> None:
    for column, found in zip(ENDS, ends or (), strict=False):
        found.add(batch.column(column))
