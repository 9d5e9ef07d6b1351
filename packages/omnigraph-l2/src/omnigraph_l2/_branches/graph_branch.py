"""One graph branch, open: its catalog, its publisher, and what follows each publish.

Always: what follows a publish (pointer, log, upkeep of the catalog) can fail or be cut short
without harm. The next writer completes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from heapq import merge
from typing import Final

from omnigraph_l1 import Table, unique_branch_name
from omnigraph_l1.errors import BranchExists, Conflict, L1Error
from omnigraph_l1.errors import OutcomeUnknown as ReplyLost
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branches.catalog_upkeep import CatalogUpkeep
from omnigraph_l2._branches.names import is_owned_by
from omnigraph_l2._branches.pointers import Pointers
from omnigraph_l2._catalog.changes import Intent
from omnigraph_l2._catalog.commits import EPOCH, GraphCommit, Published
from omnigraph_l2._catalog.state import CatalogState, TableEntry
from omnigraph_l2._errors.translating import border, table_border
from omnigraph_l2._events import emit
from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._leases import Hold, Leases
from omnigraph_l2._manifest.catalog import Catalog, Loaded
from omnigraph_l2._publishing.publisher import Publisher, Surroundings
from omnigraph_l2._publishing.turns import Turns
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST
from omnigraph_l2.errors import (
    CommitOutcomeUnknown,
    CorruptRepository,
    InvalidRequest,
    OmniGraphError,
    OutcomeUnknown,
    SnapshotExpired,
    StorageError,
    TableContention,
    UnknownBranch,
)

__all__ = ["GraphBranch"]

LOG_LAG: Final = 16
"""How many commits the log may be behind."""

_FORKED = declare("l2.table.forked", "a table has a branch, and nothing on it yet")
_POINTED = declare("l2.pointer.advanced", "the pointer of the branch shows the publish")

_AS_IF_DELETED = (
    CorruptRepository,
    InvalidRequest,
    OutcomeUnknown,
    SnapshotExpired,
    StorageError,
    TableContention,
    UnknownBranch,
)
"""How a branch looks whose native branches are going; Lance's names are theirs, not ours."""


class GraphBranch:
    """A branch of the graph. Threads may share it."""

    def __init__(
        self,
        name: str,
        native: str | None,
        *,
        root: Root,
        pointers: Pointers,
        log: GraphLog,
        turns: Turns,
        leases: Leases,
        check: Callable[[], None],
    ) -> None:
        self.name = name
        self.native = native
        self.catalog = Catalog(
            root,
            native,
            None if native is None else name,
            hint=self._pointed_at,
            is_gone=self._is_gone,
        )
        self._root = root
        self._pointers = pointers
        self._log = log
        self._leases = leases
        self._upkeep = CatalogUpkeep(log)
        self._logged_through = 0
        self._check = check
        self.has_published = False
        """Whether this handle has published anything, so that the log may be behind."""
        self._publisher = Publisher(
            self.catalog,
            turns,
            Surroundings(
                parent=self._parent,
                was_published=self._was_published,
                operation=self.operation,
                check=self._ready,
                published=self._published,
            ),
        )

    def _pointed_at(self) -> int | None:
        pointer = self._pointers.get(self.name)
        if pointer is None or pointer.native_branch != self.native:
            return None
        return pointer.manifest_version

    def hold(self) -> Hold:
        """Hold on to what is there from now on: before what a publish stands on is read."""
        return self._leases.hold(writes=True)

    @contextmanager
    def border(self, table_key: str | None = None) -> Iterator[None]:
        """Let nothing of the layer below out; a branch that is being deleted looks damaged."""
        try:
            with border() if table_key is None else table_border(table_key):
                yield
        except _AS_IF_DELETED as error:
            if self.native is None or isinstance(error, CommitOutcomeUnknown):
                raise
            gone = False
            with suppress(L1Error, OmniGraphError):  # where the store fails, it fails here too
                gone = self._is_gone()
            if not gone:
                raise
            raise UnknownBranch(place=self._root.place, branch=self.name) from error

    def _is_gone(self) -> bool:
        pointer = self._pointers.get(self.name)
        if pointer is not None or self.native != self.name:
            return pointer is None or pointer.native_branch != self.native
        return not self._root.open(MANIFEST).has_branch(self.name)

    def publish(self, intent: Intent, *, timeout: float, hold: Hold | None = None) -> GraphCommit:
        """Publish one commit, if what it stands on was held on to all the time."""
        made = self._publisher.publish(
            intent, hold=hold or self.hold(), place=self._root.place, timeout=timeout
        )
        self.has_published = True
        return made.commit

    def lineage(self, entry: TableEntry) -> Table:
        """Open a table at its pinned version, where this branch may write to it.

        On a branch that has not written to the table yet, this forks it: no data is copied.
        """
        path, version = entry.table_path, entry.table_version
        pinned = self._root.open(path, branch=entry.table_branch, version=version)
        if self.native is None or is_owned_by(entry.table_branch, self.native):
            return pinned
        try:
            forked = pinned.fork(self.native, fresh=False)
        except (BranchExists, ReplyLost):
            forked = self._forked_before(path, pinned)
        failpoint(_FORKED)
        return self._root.remember(path, forked)

    def _forked_before(self, path: str, pinned: Table) -> Table:
        """Take the fork that is there: another's, or one's own, told or not; else another name."""
        try:
            existing = self._root.open(path, branch=self.native)
            if existing.versions()[:1] == [pinned.version]:
                return existing.at(pinned.version)
        except L1Error:
            self._root.forget(path, self.native)
        return pinned.fork(unique_branch_name(self.native or "main"), fresh=True)

    def head(self, state: CatalogState) -> GraphCommit | None:
        """Give the newest commit of a state of the catalog."""
        newest = self._parent(state) if state.is_foreign or state.head is None else state.head
        return None if newest is None else newest.commit

    def operation(self, state: CatalogState, digest: str) -> str | None:
        """Tell which commit an operation made, if it was done here or before this started."""
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

        What the original program published in between is in the log only, so that the log is
        asked where a commit does not follow the one before it.
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
        """Write down what the log lacks; give how many commits."""
        state = self.catalog.refresh().state
        completed = self._log.complete(state)
        self._logged_through = state.last_sequence
        return completed

    def tidy_catalog(self) -> bool:
        """Make the catalog as small as can be; tell whether that was anything."""
        try:
            made = self._upkeep.at_once(self.catalog.refresh())
        except Conflict:
            return False  # somebody publishes, who does what is due
        if made is not None:
            self.catalog.moved_to(made)
        return made is not None

    def _ready(self) -> None:
        """See to it that this branch may be published to. The publisher migrates the catalog."""
        self._check()
        self._pointers.probe_once()

    def _parent(self, state: CatalogState) -> Published | None:
        logged = self._log.head(self.native, until=state.version)
        if logged is None:
            return state.head
        head = state.head
        if head is not None and head.commit.manifest_version >= logged.manifest_version:
            return head
        return Published(state.last_sequence, logged)

    def _was_published(self, commit_id: str, _state: CatalogState) -> Published | None:
        found = self._log.find(commit_id, self.native)
        return None if found is None else Published(0, found)

    def _published(self, loaded: Loaded) -> None:
        try:
            head = loaded.state.head
            if head is not None:
                self._pointers.advance(
                    self.name, self.native, loaded.state.version, head.commit.graph_commit_id
                )
            failpoint(_POINTED)
            if loaded.state.last_sequence - self._logged_through >= LOG_LAG:
                self._log.complete(loaded.state)
                self._logged_through = loaded.state.last_sequence
            kept_up = self._upkeep.after(loaded)
            if kept_up is not None:
                self.catalog.moved_to(kept_up)
        except (L1Error, OmniGraphError) as error:
            emit("after_publish_failed", place=self._root.place, branch=self.name, error=str(error))


def _age(commit: GraphCommit) -> tuple[int, timedelta]:
    return -commit.manifest_version, EPOCH - commit.created_at
