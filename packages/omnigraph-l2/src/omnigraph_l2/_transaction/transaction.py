"""A transaction: changes of several tables that become visible together, or not at all.

Invariant: a transaction publishes its pinned version of each table plus its own changes, and every
table that it wrote, expected or read by a check is unchanged at the publish. A lost race is retried
where that has the same result. An exception publishes nothing.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import attrs
import pyarrow as pa

from omnigraph_l1 import Table, new_ulid
from omnigraph_l2._branch.read_targets import share_table
from omnigraph_l2._branch.snapshot import Snapshot
from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._catalog.publish_plan import Intent, check_expected, operation_digest
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._commit.integrity import ENDS
from omnigraph_l2._commit.leases import Pin, guard_lease
from omnigraph_l2._commit.publisher import WriteStatus
from omnigraph_l2._errors.translating import translate_errors, translate_table_errors
from omnigraph_l2._model.argument_checks import check_key, invalid_argument, listed_ids
from omnigraph_l2._rows.data_problems import translate_data_errors
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._rows.incoming_rows import Incoming, incoming
from omnigraph_l2._rows.pinned_reads import IdLookup
from omnigraph_l2._rows.spill_file import Spool
from omnigraph_l2._store.archived_commits import ArchivedCommits
from omnigraph_l2._store.branch_registry import is_hidden
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2._transaction.change_target import ChangeTarget, StagedChange
from omnigraph_l2._transaction.shared_work import SharedWork
from omnigraph_l2._transaction.transaction_operation import (
    Append,
    Changed,
    DeleteIds,
    DeleteWhere,
    Operation,
    Overwrite,
    PendingTable,
    ReadSet,
    TransactionOperation,
    Upsert,
)
from omnigraph_l2._transaction.write_target import Staged, WriteTarget
from omnigraph_l2.errors import (
    ConcurrentUse,
    ExpectedVersionMismatch,
    InvalidFilter,
    InvalidRequest,
    TransactionClosed,
    UnknownBranch,
)

__all__ = ["Author", "CommitOutcome", "Transaction"]


_T = TypeVar("_T", Staged, StagedChange)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_WRITTEN_BY: Final[Mapping[type, str]] = {
    Staged: "WriteTarget.write",
    StagedChange: "ChangeTarget.write",
}


class CommitOutcome(enum.Enum):
    """What became of a transaction."""

    COMMITTED = "committed"
    NOT_COMMITTED = "not committed"
    UNKNOWN = "unknown"
    """A write was interrupted, or its reply was lost, and it has not landed so far."""


@attrs.frozen(kw_only=True)
class Author:
    """The actor, message, operation hash and run id of a commit."""

    actor: str | None = None
    message: str | None = None
    operation_hash: str | None = None
    run_id: str | None = None


def _exclusive(
    method: Callable[Concatenate[Transaction, _P], _R],
) -> Callable[Concatenate[Transaction, _P], _R]:
    """Refuse a call while another thread is inside of one."""

    @wraps(method)
    def guarded(self: Transaction, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if not self._in_use.acquire(blocking=False):
            raise ConcurrentUse(what="transaction")
        try:
            return method(self, *args, **kwargs)
        finally:
            self._in_use.release()

    return guarded


class Transaction:
    """Changes that become visible together. Get one from ``repo.transaction``; use it once."""

    def __init__(
        self,
        branch: BranchSession,
        *,
        root: RepositoryRoot,
        clock: Callable[[], Any],
        author: Author,
        check_edges: bool,
        timeout: float,
    ) -> None:
        self._branch = branch
        self._root = root
        self._clock = clock
        self._author = author
        self._check_edges = check_edges
        self._timeout = timeout
        self._state: CatalogState | None = None
        self._tables: dict[str, PendingTable] = {}
        self._expected: dict[str, int] = {}
        self._read: set[str] = set()
        self._ended = "not begun"
        self._pin: Pin | None = None
        self._repeats: GraphCommit | None = None
        self._lookups = IdLookup(root.known_ids)
        self._reads = ReadSet(branch)
        self._commit_id = new_ulid()
        self._status = WriteStatus()
        self._in_use = threading.RLock()
        self.commit: GraphCommit | None = None
        """What was published; None before that, or where nothing was changed."""

    @_exclusive
    def __enter__(self) -> Transaction:  # noqa: PYI034  # Self needs Python 3.11
        if self._ended != "not begun":
            raise TransactionClosed(what="transaction", state=self._ended)
        self._root.check_open()
        with self._branch.translate_errors():
            self._pin = self._branch.hold()
            self._state = self._branch.catalog.refresh().state
            version = self._state.version
            self._pin.narrow(self._branch.native, version, is_head=True, writes=True)
            self._repeats = self._done_before(self._state)
        self._ended = ""
        return self

    @_exclusive
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                with self._translate_errors():
                    self.commit = self._repeats or self._commit()
                self._ended = "committed"
            else:
                self._ended = "abandoned"
            if self._status.published is None:  # else its commit has what was read
                self._record_reads(has_failed=kind is not None)
        except UnknownBranch as gone:
            self._ended = "failed"
            raise UnknownBranch(location=self._root.location, branch=self._branch.name) from gone
        except BaseException:
            self._ended = "failed"
            raise
        finally:
            published = self._status.published
            if published is not None:  # also where what followed it was interrupted
                self.commit = published.commit
            self._pin = None
            for pending in self._tables.values():
                pending.close()

    @property
    def commit_id(self) -> str:
        """The id that the commit will have. After ``CommitOutcomeUnknown``, look for it."""
        return self._commit_id

    @property
    def outcome(self) -> CommitOutcome:
        """Whether this was published. After an interruption this looks for the commit."""
        if self.commit is not None:
            return CommitOutcome.COMMITTED
        if self._status.uncertain_sequence is None:
            return CommitOutcome.NOT_COMMITTED
        otherwise = CommitOutcome.UNKNOWN
        try:
            with self._branch.translate_errors():
                found = self._branch.find(self._commit_id)
        except UnknownBranch:
            with translate_errors():
                found = ArchivedCommits(self._root).find(self._commit_id)
            if not is_hidden(self._branch.native):  # steps of runs are not archived
                otherwise = CommitOutcome.NOT_COMMITTED
        return otherwise if found is None else CommitOutcome.COMMITTED

    @property
    def is_repeat(self) -> bool:
        """Whether the operation was done before; then this transaction does nothing."""
        return self._repeats is not None

    @property
    def snapshot(self) -> Snapshot:
        """The graph as this transaction found it, without its own changes."""
        state = self._open_state()
        with self._branch.translate_errors():
            head = self._branch.head(state)
            return Snapshot(self._root, self._branch.name, state, head, self._pin)

    # Changing.

    @_exclusive
    def append(self, table_key: str, data: Any) -> None:
        """Add rows with new ids."""
        pending, coming = self._incoming(table_key, data)
        written, ids, ends = self._write(pending, coming)
        self._add(pending, Append(written=written, ids=ids, ends=ends))

    @_exclusive
    def overwrite(self, table_key: str, data: Any) -> None:
        """Replace all rows."""
        pending, coming = self._incoming(table_key, data)
        written, ids, ends = self._write(pending, coming)
        self._add(pending, Overwrite(written=written, ids=ids, ends=ends))

    @_exclusive
    def upsert(self, table_key: str, data: Any) -> None:
        """Replace rows by id, and add the others. A nullable column that is not given is kept."""
        pending, coming = self._incoming(table_key, data, may_lack_nullable=True)
        rows, ends = Spool(coming.schema, coming), self._ends(table_key)
        with translate_data_errors(table_key):
            for batch in rows:
                _collect(ends, batch)
        self._add(pending, Upsert(rows=rows, ends=ends))

    @_exclusive
    def delete(
        self, table_key: str, predicate: str | None = None, *, ids: Iterable[str] | None = None
    ) -> None:
        """Delete the rows that a filter matches, or those with these ids."""
        if (predicate is None) == (ids is None):
            reason = "expected either a predicate or ids; the predicate 'true' matches every row"
            raise InvalidRequest(what=f"deletion from {table_key}", reason=reason)
        pending = self._table(table_key)
        if predicate is not None:
            given: object = predicate
            if not isinstance(given, str):
                reason = 'a filter is text, as in "age > 3"'
                raise InvalidFilter(table_key=table_key, filter=repr(given), reason=reason)
            with self._translate_errors(table_key):  # report an invalid filter here
                found = None if pending.operations else pending.base.stage_delete(predicate)
                if found is None:
                    pending.base.count(predicate)
            self._add(pending, DeleteWhere(predicate=predicate, found=found))
        else:
            self._add(pending, DeleteIds(ids=listed_ids(table_key, ids)))

    # Rows that other processes write.

    @_exclusive
    def stage(self, table_key: str) -> WriteTarget:
        """Return what another process needs to write rows for a table. It can be pickled."""
        base = self._table(table_key).base
        return WriteTarget(
            table_key=table_key,
            target=base.write_target,
            schema=base.schema,
            staged_for=self.commit_id,
        )

    @_exclusive
    def append_staged(
        self,
        table_key: str,
        staged: Staged | Iterable[Staged],
        *,
        checked_at: int | None = None,
    ) -> None:
        """Add rows that others wrote with ``stage``.

        ``checked_at`` is a version of the graph, such as ``snapshot.version``. With it the caller
        vouches that in the graph as it was then, with all that this transaction does to it, these
        rows have ids of their own, and their ends are there.
        """
        parts = self._parts(table_key, staged, Staged)
        written = tuple(part.written for part in parts)
        since = self._check_version(table_key, checked_at)
        change = Append(
            written=written, ids=None, checked_at=since, is_foreign=self._is_foreign(parts)
        )
        self._add(self._table(table_key), change)

    @_exclusive
    def overwrite_staged(
        self,
        table_key: str,
        staged: Staged | Iterable[Staged],
        *,
        checked_at: int | None = None,
    ) -> None:
        """Replace all rows by rows that others wrote with ``stage``."""
        parts = self._parts(table_key, staged, Staged)
        written = tuple(part.written for part in parts)
        since = self._check_version(table_key, checked_at)
        change = Overwrite(
            written=written, ids=None, checked_at=since, is_foreign=self._is_foreign(parts)
        )
        self._add(self._table(table_key), change)

    @_exclusive
    def stage_changes(self, table_key: str) -> ChangeTarget:
        """Return what another process needs to change rows by id. It can be pickled.

        It changes rows as they were when this transaction began.
        """
        base = self._table(table_key).base
        return ChangeTarget(
            table_key=table_key,
            target=base.write_target,
            schema=base.schema,
            staged_for=self.commit_id,
        )

    @_exclusive
    def change_staged(
        self,
        table_key: str,
        staged: StagedChange | Iterable[StagedChange],
        *,
        checked_at: int | None = None,
    ) -> None:
        """Accept what others changed with ``stage_changes``, all of it at once.

        An id that two of them changed, or added, is refused. ``ExpectedVersionMismatch`` where
        another writer has published changes of the same rows since.
        """
        parts = self._parts(table_key, staged, StagedChange)
        written = tuple(part.written for part in parts)
        since = self._check_version(table_key, checked_at)
        change = Changed(written=written, checked_at=since, is_foreign=self._is_foreign(parts))
        self._add(self._table(table_key), change)

    @_exclusive
    def share(self, table_key: str) -> SharedWork:
        """Return what other processes need to read a table with the changes of this transaction.

        It does not count as read: a lost race is run again. So say with ``checked_at`` what was
        found out by it.
        """
        pending = self._table(table_key)
        with translate_data_errors(table_key), translate_table_errors(table_key):
            current = pending.apply()
            files, before = current.fragment_files(), pending.base.fragment_files()
            known = {each.data for each in before.values()}
            came = [number for number, each in files.items() if each.data not in known]
            kept = pending.updated_files
            return SharedWork(
                before=share_table(pending.base, table_key=table_key, count=pending.base.count()),
                after=share_table(current, table_key=table_key, count=current.count()),
                written=tuple(came),
                added=tuple(n for n in came if kept.isdisjoint(files[n].data)),
            )

    # Reading and expecting.

    @_exclusive
    def read(
        self,
        table_key: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002 - the name in the API contract
    ) -> pa.Table:
        """Read rows, with what this transaction did to them so far."""
        with self._translate_errors(table_key):
            return self._current(table_key).read(columns, filter)

    @_exclusive
    def scan(
        self,
        table_key: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002
    ) -> pa.RecordBatchReader:
        """Read the same in batches."""
        with self._translate_errors(table_key):
            reader = self._current(table_key).scan(columns, filter)
        return pa.RecordBatchReader.from_batches(reader.schema, self._read_on(reader, table_key))

    @_exclusive
    def expect(self, table_key: str, version: int | None = None) -> None:
        """Publish only if this table is then still at a version: the one that is seen here."""
        state = self._open_state()
        check_key(table_key, state.tables)
        seen = state.latest(table_key)
        if version is not None:
            check_expected({table_key: version})
            if version != seen:
                raise ExpectedVersionMismatch(table_key=table_key, expected=version, actual=seen)
        self._expected[table_key] = seen
        self._reads.add(table_key)

    # Inside.

    def _record_reads(self, *, has_failed: bool) -> None:
        """Note on the branch of a run what was read, also where nothing was changed."""
        intent = attrs.evolve(self._intent(new_ulid()), operation_hash=None)
        try:
            with self._branch.translate_errors():
                self._reads.record(intent, timeout=self._timeout)
        except UnknownBranch:
            if not has_failed:
                raise

    def _read_on(self, reader: pa.RecordBatchReader, table_key: str) -> Iterator[pa.RecordBatch]:
        while True:
            with self._translate_errors(table_key):
                batch = next(iter(reader), None)
            if batch is None:
                return
            yield batch

    @contextmanager
    def _translate_errors(self, table_key: str | None = None) -> Iterator[None]:
        with guard_lease(self._pin), self._branch.translate_errors(table_key):
            yield

    def _open_state(self) -> CatalogState:
        self._root.check_open()
        if self._ended or self._state is None:
            raise TransactionClosed(what="transaction", state=self._ended or "not begun")
        return self._state

    def _table(self, table_key: str) -> PendingTable:
        entry = self._open_state().entry(table_key)
        pending = self._tables.get(table_key)
        if pending is None:
            with self._translate_errors(table_key):
                base = self._branch.lineage(entry)
            pending = PendingTable(
                entry=entry,
                lookups=self._lookups,
                catalog=self._branch.catalog,
                base=base,
                current=base,
                was_read=table_key in self._read,
            )
            self._tables[table_key] = pending
            self._reads.add(table_key)
        return pending

    def _current(self, table_key: str) -> Table:
        entry = self._open_state().entry(table_key)
        self._read.add(table_key)
        pending = self._tables.get(table_key)
        if pending is not None and pending.operations:
            pending.was_read = True
            with translate_data_errors(table_key):
                return pending.apply()
        if pending is not None:
            pending.was_read = True
        self._reads.add(table_key)
        return self._root.open(
            entry.table_path, branch=entry.table_branch, version=entry.table_version
        )

    @property
    def _seen(self) -> int:
        return self._open_state().version

    def _add(self, pending: PendingTable, operation: Operation) -> None:
        pending.operations.append(operation)

    def _incoming(
        self, table_key: str, data: Any, *, may_lack_nullable: bool = False
    ) -> tuple[PendingTable, Incoming]:
        pending = self._table(table_key)
        with translate_data_errors(table_key):
            coming = incoming(
                data,
                pending.base.schema,
                what=table_key,
                may_lack_nullable=may_lack_nullable,
            )
        return pending, coming

    def _write(
        self, pending: PendingTable, coming: Incoming
    ) -> tuple[tuple[Any, ...], IdSet, tuple[IdSet, IdSet] | None]:
        ids, ends = IdSet(), self._ends(pending.key)

        def passing() -> Iterable[pa.RecordBatch]:
            for batch in coming:
                ids.add(batch.column("id"))
                _collect(ends, batch)
                yield batch

        reader = pa.RecordBatchReader.from_batches(coming.schema, passing())
        with translate_data_errors(pending.key), self._translate_errors(pending.key):
            written = pending.base.write(reader)
        return (written,), ids, ends

    def _ends(self, table_key: str) -> tuple[IdSet, IdSet] | None:
        return (IdSet(), IdSet()) if table_key.startswith("edge:") and self._check_edges else None

    def _commit(self) -> GraphCommit | None:
        self._open_state()
        operation = TransactionOperation(
            branch=self._branch,
            root=self._root,
            intent=self._intent(self._commit_id),
            tables=self._tables,
            expected=self._expected,
            reads=self._reads,
            check_ends=self._check_edges,
        )
        return self._branch.commit(
            operation, timeout=self._timeout, pin=self._pin, status=self._status
        )

    def _done_before(self, state: CatalogState) -> GraphCommit | None:
        if self._author.operation_hash is None:
            return None
        digest = operation_digest(self._author.operation_hash)
        commit_id = self._branch.find_operation(state, digest)
        return None if commit_id is None else self._branch.find(commit_id)

    def _intent(self, commit_id: str) -> Intent:
        return Intent(
            graph_commit_id=commit_id,
            changes=(),
            expected={},
            created_at=self._clock(),
            actor_id=self._author.actor,
            message=self._author.message,
            run_id=self._author.run_id,
            operation_hash=self._author.operation_hash,
        )

    def _check_version(self, table_key: str, version: object) -> int | None:
        if version is None:
            return None
        seen = self._seen
        if isinstance(version, bool) or not isinstance(version, int) or not 0 < version <= seen:
            expected = f"a version of the graph up to {seen}, at which this transaction began"
            raise invalid_argument(version, f"checked_at for {table_key}", expected)
        return version

    def _parts(self, table_key: str, staged: object, kind: type[_T]) -> tuple[_T, ...]:
        given = (staged,) if isinstance(staged, kind) else staged
        parts: tuple[Any, ...] = tuple(given) if isinstance(given, Iterable) else (given,)
        for part in parts:
            if not isinstance(part, kind):
                expected = f"what {_WRITTEN_BY[kind]} returned"
                raise invalid_argument(part, f"staged rows for {table_key}", expected)
            if part.table_key != table_key:
                reason = f"they were written for {part.table_key}. Stage them for this table"
                raise InvalidRequest(what=f"staged rows for {table_key}", reason=reason)
        return parts

    def _is_foreign(self, parts: Iterable[Staged | StagedChange]) -> bool:
        """Return whether some work was staged for another transaction: it may be gone."""
        return any(part.staged_for != self.commit_id for part in parts)


def _collect(ends: tuple[IdSet, IdSet] | None, batch: pa.RecordBatch) -> None:
    for column, found in zip(ENDS, ends or (), strict=False):
        found.add(batch.column(column))
