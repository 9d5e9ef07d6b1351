"""One open graph branch: its catalog, its publisher, and what follows each publish.

Upkeep of the manifest drops rows that are superseded and in the log, and merges small fragments;
older versions of the catalog still hold the rows. The writer that publishes does it during its
turn. Few fragments matter more than few writes, because each publish reads the keys of all of them.

Invariant: what follows a publish (pointer, log, upkeep of the catalog) may fail or be interrupted
without harm, because the next writer completes it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from heapq import merge
from typing import Final

import attrs

from omnigraph_l1 import Table, unique_branch_name
from omnigraph_l1.deadlines import within
from omnigraph_l1.errors import BranchExists, Conflict, CorruptDataset, L1Error, NotFound
from omnigraph_l1.errors import OutcomeUnknown as ReplyLost
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.catalog_state import CatalogState, TableEntry
from omnigraph_l2._catalog.graph_commit import EPOCH, GraphCommit, Published
from omnigraph_l2._catalog.manifest_pruning import find_superseded
from omnigraph_l2._commit.commit_loop import CommitLoop
from omnigraph_l2._commit.commit_operation import Operation
from omnigraph_l2._commit.leases import Leases, Pin
from omnigraph_l2._commit.publisher import ManifestBatchPublisher, PublishBackend, WriteStatus
from omnigraph_l2._commit.writer_queue import WriterQueue
from omnigraph_l2._errors.translating import translate_errors, translate_table_errors
from omnigraph_l2._model.deadlines import COMMIT_SECONDS, wait_seconds
from omnigraph_l2._model.events import emit
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._store.archived_commits import ArchivedCommits
from omnigraph_l2._store.branch_registry import BranchPointers, is_owned_by, run_of
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.manifest_store import (
    Loaded,
    ManifestStore,
    follow,
    follow_compaction,
    read_rows,
)
from omnigraph_l2._store.repository_root import RepositoryRoot, check_writable, refuse_auto_cleanup
from omnigraph_l2.errors import (
    CorruptRepository,
    InvalidRequest,
    OmniGraphError,
    OutcomeUnknown,
    SnapshotExpired,
    StorageError,
    StoreUnavailable,
    TableContention,
    UnknownBranch,
)

__all__ = ["BranchSession", "ManifestUpkeep"]

_PRUNED = declare("l2.catalog.pruned", "rows that are superseded are gone from the catalog")
_COMPACTED = declare("l2.catalog.compacted", "the fragments of the catalog are merged")

_MANY_FRAGMENTS: Final = 9
_PUBLISHES_KEPT: Final = 64
_SMALL_FRAGMENT_ROWS: Final = 4_096


@attrs.frozen
class ManifestUpkeep:
    """Prunes and compacts the catalog once enough has been published."""

    _log: CommitLog

    def after(self, loaded: Loaded) -> Loaded | None:
        """Do what is due; return the version that it made, if any."""
        if len(loaded.state.publishes) >= 2 * _PUBLISHES_KEPT:
            return self._prune(loaded)
        if len(loaded.fragments) >= _MANY_FRAGMENTS:
            made = loaded.table.compact(target_rows=_SMALL_FRAGMENT_ROWS, drop_deleted=False)
            failpoint(_COMPACTED)
            return follow_compaction(loaded, made)
        return None

    def at_once(self, loaded: Loaded) -> Loaded | None:
        """Do everything possible; return the version that it made, if any."""
        made = self._prune(loaded)
        return None if made is loaded else made

    def _prune(self, loaded: Loaded) -> Loaded:
        """Drop superseded rows, and merge the rest into one fragment."""
        state, table = loaded.state, loaded.table
        self._log.complete(state)
        gone = list(
            find_superseded(
                read_rows(table),
                state,
                logged=self._log.logged_ids(state),
                keep_publishes=_PUBLISHES_KEPT,
            )
        )
        if gone:
            table = table.delete_keys("object_id", gone).table
            failpoint(_PRUNED)
        table = table.compact().table
        failpoint(_COMPACTED)
        return follow(loaded, table)


LOG_LAG: Final = 16
"""How many commits the log may be behind, unless it is completed with each commit."""

_POINTER_PAUSE_SECONDS: Final = 60.0
"""For how long publishes do not try to move a pointer that could not be reached: a stopped process
may hold its lock, and each of them would wait for it."""

_FORKED = declare("l2.table.forked", "a table has a branch, and nothing on it yet")
_POINTED = declare("l2.pointer.advanced", "the pointer of the branch shows the publish")

_AS_IF_DELETED = (
    CorruptRepository,
    InvalidRequest,
    SnapshotExpired,
    StorageError,
    TableContention,
    UnknownBranch,
)
"""How a branch looks whose native branches are going; Lance's names are theirs, not ours."""


class BranchSession:
    """A branch of the graph. Threads may share it."""

    def __init__(
        self,
        name: str,
        native: str | None,
        *,
        root: RepositoryRoot,
        pointers: BranchPointers,
        log: CommitLog,
        turns: WriterQueue,
        leases: Leases,
        check: Callable[[], None],
        finish_deletion: Callable[[str, str], object],
        clock: Callable[[], datetime],
        log_each_commit: bool,
    ) -> None:
        self.name = name
        self.native = native
        self.is_of_run = run_of(name) is not None
        """Whether a run works on it."""
        self.catalog = ManifestStore(
            root,
            native,
            None if native is None else name,
            hint=self._version_hint,
            is_gone=self._is_gone,
        )
        self._root = root
        self._pointers = pointers
        self._log = log
        self._leases = leases
        self._upkeep = ManifestUpkeep(log)
        self._log_lag = 1 if log_each_commit else LOG_LAG
        self._logged_through = -LOG_LAG
        """So low that the first publish completes what a writer before may have left."""
        self._pointer_not_before = -math.inf
        self._durable: dict[str, TableEntry] = {}
        self._check = check
        self._finish_deletion = finish_deletion
        self.has_published = False
        """Whether this handle has published anything, so that the log may be behind."""
        self._publisher = ManifestBatchPublisher(
            self.catalog,
            turns,
            PublishBackend(
                parent=self._parent,
                find_published=self._find_published,
                operation=self.find_operation,
                load_publish_state=self.load_publish_state,
                is_gone_after=self._is_gone_after,
                find_archived=ArchivedCommits(root).find,
                after_publish=self._after_publish,
            ),
        )
        self._loop = CommitLoop(
            root=root,
            catalog=self.catalog,
            queue=turns,
            publisher=self._publisher,
            history=self,
            clock=clock,
        )

    def _version_hint(self) -> int | None:
        pointer = self._pointers.get(self.name)
        if pointer is None or pointer.native_branch != self.native:
            return None
        return pointer.manifest_version

    def hold(self, *, writes: bool = True) -> Pin:
        """Pin what is visible from now on, before the base of a publish is read."""
        return self._leases.hold(writes=writes)

    @contextmanager
    def translate_errors(self, table_key: str | None = None) -> Iterator[None]:
        """Translate errors of omnigraph_l1; report a branch that is being deleted as unknown."""
        translating = translate_errors() if table_key is None else translate_table_errors(table_key)
        with self._report_deletion(_AS_IF_DELETED), translating:
            yield

    @contextmanager
    def translate_log_errors(self) -> Iterator[None]:
        """Translate errors of writing the log, which a deleted branch does not need."""
        with self._report_deletion((*_AS_IF_DELETED, OutcomeUnknown)), translate_errors():
            yield

    @contextmanager
    def _report_deletion(self, kinds: tuple[type[OmniGraphError], ...]) -> Iterator[None]:
        try:
            yield
        except kinds as error:
            if self.native is None:
                raise
            gone = False
            with suppress(OmniGraphError):  # where the store fails, it fails here too
                gone = self._is_gone()
            if not gone:
                raise
            raise UnknownBranch(location=self._root.location, branch=self.name) from error

    def _is_gone(self) -> bool:
        pointer = self._pointers.get(self.name)
        if pointer is not None or self.native != self.name:
            return pointer is None or pointer.native_branch != self.native
        return not self._root.open(MANIFEST).has_branch(self.name)

    def commit(
        self,
        operation: Operation,
        *,
        timeout: float,
        pin: Pin | None = None,
        status: WriteStatus | None = None,
    ) -> GraphCommit | None:
        """Publish an operation; return its commit, an earlier one, or None if nothing changed.

        The pin has covered everything that the operation has read so far. ``status`` says after an
        interruption whether a write may have landed.
        """
        check_writable(self._root)
        with self.translate_errors(), within(timeout):
            try:
                made = self._loop.commit(
                    operation,
                    pin=pin or self.hold(),
                    status=status or WriteStatus(),
                    timeout=timeout,
                )
            except UnknownBranch:
                if self.native is not None:
                    # The process that began its deletion may have been killed.
                    self._finish_deletion(self.name, self.native)
                raise
        self.has_published = True
        return made

    def close(self, native: str, *, timeout: float) -> bool:
        """Decide the deletion of the branch: nothing is published on it after this.

        Return False if that was decided before.
        """
        with self.translate_errors():
            return self._publisher.close_branch(native, deadline=time.monotonic() + timeout)

    def fence(self) -> None:
        """Let no commit land on the branch that was checked before this returns."""
        deadline = time.monotonic() + wait_seconds(COMMIT_SECONDS)
        with self.translate_errors():
            self._publisher.fence(deadline=deadline)

    def load_publish_state(self) -> Loaded:
        """Read the newest state, migrated; raise if this branch must not be written to now."""
        self._check()
        loaded = self.catalog.migrate(self.catalog.refresh())
        if self._root.is_durable and self._root.storage.location.is_local:
            self._make_durable(loaded.state)
        return loaded

    def _make_durable(self, state: CatalogState) -> None:
        """Flush what others have published without: a durable publish makes their rows durable."""
        for key in sorted(state.not_durable):
            entry = state.tables[key]
            if self._durable.get(key) == entry:
                continue
            with suppress(NotFound, CorruptDataset):  # it is lost already; reading it says so
                self._root.open(
                    entry.table_path, branch=entry.table_branch, version=entry.table_version
                ).make_durable()
            self._durable[key] = entry

    def lineage(self, entry: TableEntry) -> Table:
        """Open a table at its pinned version, where this branch may write to it.

        On a branch that has not written to the table yet, this forks it: no data is copied.
        """
        path, version = entry.table_path, entry.table_version
        pinned = refuse_auto_cleanup(
            self._root.open(path, branch=entry.table_branch, version=version)
        )
        if (path, entry.table_branch) not in self._root.checked_heads:
            # Lance goes by the config of the head, which need not be the version that is pinned.
            refuse_auto_cleanup(pinned.refresh())
            self._root.checked_heads.add((path, entry.table_branch))
        if self.native is None or is_owned_by(entry.table_branch, self.native):
            return pinned
        try:
            forked = pinned.fork(self.native, fresh=False)
        except (BranchExists, ReplyLost):
            forked = self._forked_before(path, pinned)
        failpoint(_FORKED)
        return self._root.remember(path, forked)

    def _forked_before(self, path: str, pinned: Table) -> Table:
        """Take an existing fork, of this or another writer; otherwise use another name."""
        try:
            existing = self._root.open(path, branch=self.native)
            if existing.versions()[:1] == [pinned.version]:
                return existing.at(pinned.version)
        except L1Error:
            self._root.forget(path, self.native)
        return pinned.fork(unique_branch_name(self.native or "main"), fresh=True)

    def head(self, state: CatalogState) -> GraphCommit | None:
        """Return the newest commit of a state of the catalog."""
        newest = self._parent(state) if state.is_foreign or state.head is None else state.head
        return None if newest is None else newest.commit

    def find_operation(self, state: CatalogState, digest: str) -> str | None:
        """Return the commit that an operation made, here or before this branch started."""
        held = state.operations.get(digest)
        if held is not None:
            return held
        made = self._log.operations(digest)
        return next((each for each in made if self.find(each) is not None), None)

    def find(self, commit_id: str) -> GraphCommit | None:
        """Find a commit of this branch, or of one that it started from."""
        given: object = commit_id
        if not isinstance(given, str):
            return None
        made = self.catalog.refresh().state.commit(commit_id)
        return self._log.find(commit_id, self.native) if made is None else made.commit

    def find_logged(self, commit_ids: Sequence[str]) -> list[GraphCommit]:
        """Find those of some commits that are in the log."""
        return self._log.find_all(commit_ids, self.native)

    def newest_first(self) -> Iterator[GraphCommit]:
        """Walk the commits back to the beginning: those in the catalog, then those in the log.

        Commits of another publisher in between are only in the log, so the log is read where a
        commit does not follow the one before it.
        """
        state = self.catalog.refresh().state
        held = [made.commit for made in reversed(state.publishes)]
        last = None
        seen: set[str] = set()
        if not state.is_foreign:
            for commit in held:
                if last is not None and commit.graph_commit_id != last.parent_commit_id:
                    break
                last = commit
                seen.add(commit.graph_commit_id)
                yield commit
        rest = [commit for commit in held if commit.graph_commit_id not in seen]
        for commit in merge(rest, self._log.newest_first(self.native), key=_age):
            if commit.graph_commit_id not in seen and commit.manifest_version <= state.version:
                seen.add(commit.graph_commit_id)
                yield commit

    def complete_log(self) -> int:
        """Write what the log lacks, and advance the pointer; return the number of commits."""
        with self.translate_log_errors():
            state = self.catalog.refresh().state
            completed = self._log.complete(state)
            self._advance_pointer(state)
        self._logged_through = state.last_sequence
        return completed

    def tidy_catalog(self) -> bool:
        """Prune and compact the catalog as far as possible; return whether that changed it."""
        try:
            made = self._upkeep.at_once(self.load_publish_state())
        except Conflict:
            return False  # another writer publishes, and does what is due
        if made is not None:
            self.catalog.moved_to(made)
            self._advance_pointer(made.state)
        return made is not None

    def _advance_pointer(self, state: CatalogState) -> bool:
        """Let the pointer name the head; return False if there was none of this branch."""
        head = state.head
        return head is not None and self._pointers.advance(
            self.name, self.native, state.version, head.commit.graph_commit_id
        )

    def _parent(self, state: CatalogState) -> Published | None:
        logged = self._log.head(self.native, until=state.version)
        if logged is None:
            return state.head
        head = state.head
        if head is not None and head.commit.manifest_version >= logged.manifest_version:
            return head
        return Published(state.last_sequence, logged)

    def _find_published(self, commit_id: str, _state: CatalogState) -> Published | None:
        found = self._log.find(commit_id, self.native)
        return None if found is None else Published(0, found)

    def _is_gone_after(self, loaded: Loaded) -> bool:
        """Advance the pointer to a publish; return whether the branch was deleted by then."""
        is_there = False
        if time.monotonic() >= self._pointer_not_before:
            with self._emit_failure(), self._pause_pointer():
                is_there = self._advance_pointer(loaded.state)
                failpoint(_POINTED)
        return self.native is not None and not is_there and self._is_gone()

    @contextmanager
    def _pause_pointer(self) -> Iterator[None]:
        """After a long wait in vain, let the next publishes leave the pointer where it is."""
        try:
            yield
        except StoreUnavailable:
            self._pointer_not_before = time.monotonic() + _POINTER_PAUSE_SECONDS
            raise

    def _after_publish(self, loaded: Loaded) -> None:
        """Do what follows a publish: each step though the one before it has failed."""
        if loaded.state.last_sequence - self._logged_through >= self._log_lag:
            with self._emit_failure():
                self._log.complete(loaded.state)
                self._logged_through = loaded.state.last_sequence
        with self._emit_failure():
            compacted = self._upkeep.after(loaded)
            if compacted is not None:
                self.catalog.moved_to(compacted)

    @contextmanager
    def _emit_failure(self) -> Iterator[None]:
        try:
            yield
        except OmniGraphError as error:
            emit(
                "after_publish_failed",
                location=self._root.location,
                branch=self.name,
                error=str(error),
            )


def _age(commit: GraphCommit) -> tuple[int, timedelta]:
    return -commit.manifest_version, EPOCH - commit.created_at
