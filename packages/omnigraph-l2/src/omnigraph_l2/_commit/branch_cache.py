"""The branches that a repository handle has open, by name.

Invariant: a name returns the branch that it refers to now. If a branch was deleted and created
again, its old session refuses to write, and the next caller gets a new one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime

from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._commit.leases import MAIN_LINEAGE, Leases
from omnigraph_l2._commit.writer_queue import WriterQueue
from omnigraph_l2._store.archived_commits import ArchivedCommits
from omnigraph_l2._store.branch_registry import MAIN, BranchPointers, BranchRegistry
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.manifest_store import VersionsRead
from omnigraph_l2._store.repository_root import RepositoryRoot, check_writable
from omnigraph_l2.errors import UnknownBranch

__all__ = ["BranchCache"]


class BranchCache:
    """Opens branches, and keeps them open. Threads may share it."""

    def __init__(
        self,
        root: RepositoryRoot,
        *,
        pointers: BranchPointers,
        listing: BranchRegistry,
        log: CommitLog,
        turns: WriterQueue,
        leases: Leases,
        finish_deletion: Callable[[str, str], object],
        clock: Callable[[], datetime],
        log_each_commit: bool,
    ) -> None:
        self._clock = clock
        self._log_each_commit = log_each_commit
        self._root = root
        self._pointers = pointers
        self._listing = listing
        self._log = log
        self._turns = turns
        self._leases = leases
        self._finish_deletion = finish_deletion
        self._lock = threading.Lock()
        self._open: dict[str, BranchSession] = {}

    def get(self, name: str) -> BranchSession:
        """Open a branch, or raise ``UnknownBranch``. On main it costs nothing."""
        native = None if name == MAIN else self._listing.native(name)
        with self._lock:
            known = self._open.get(name)
            if known is None or known.native != native:
                known = self._open[name] = self._make(name, native)
        return known

    def forget(self, name: str) -> None:
        """Drop a branch that was deleted."""
        with self._lock:
            self._open.pop(name, None)

    def find(self, commit_id: str) -> GraphCommit | None:
        """Find a commit on any branch, also a deleted one: on main first, which costs least."""
        given: object = commit_id
        if not isinstance(given, str):
            return None
        found = self.get(MAIN).find(commit_id) or ArchivedCommits(self._root).find(commit_id)
        found = found or self._found_on(self._others(), commit_id)
        # A branch that was deleted during the search was archived first.
        return found or ArchivedCommits(self._root).find(commit_id)

    def _found_on(self, names: Iterable[str], commit_id: str) -> GraphCommit | None:
        for name in names:
            try:
                found = self.get(name).find(commit_id)
            except UnknownBranch:
                continue  # deleted since it was listed
            if found is not None:
                return found
        return None

    def versions_read(self) -> dict[str, VersionsRead]:
        """Return what was read of each branch of the catalog, by its native name."""
        with self._lock:
            branches = list(self._open.values())
        found = ((each.native or MAIN_LINEAGE, each.catalog.read) for each in branches)
        return {name: read for name, read in found if read is not None}

    def flush(self) -> None:
        """Complete the log of each branch to which this handle has published."""
        with self._lock:
            branches = list(self._open.values())
        for branch in branches:
            if branch.has_published:
                try:
                    branch.complete_log()
                except UnknownBranch:
                    self.forget(branch.name)

    def fence(self) -> None:
        """Let no commit land, on any branch, that was checked before this returns.

        The branches are not kept open: a lease would cover what they show now.
        """

        def fence(name: str) -> None:
            with suppress(UnknownBranch):  # deleted since it was listed
                self._make(name, self._listing.native(name)).fence()

        self._root.at_once(fence, (MAIN, *self._others()))

    def _others(self) -> Iterator[str]:
        with self._lock:
            tried = [name for name in self._open if name != MAIN]
        yield from tried
        seen = {MAIN, *tried}
        pointers = self._listing.pointers()
        yield from (name for name in pointers if name not in seen)
        others = self._listing.without_pointer(pointers, with_runs=True)
        yield from (name for name in others if name not in seen)

    def _make(self, name: str, native: str | None) -> BranchSession:
        return BranchSession(
            name,
            native,
            root=self._root,
            pointers=self._pointers,
            log=self._log,
            turns=self._turns,
            leases=self._leases,
            check=lambda: check_writable(self._root),
            finish_deletion=self._finish_deletion,
            clock=self._clock,
            log_each_commit=self._log_each_commit,
        )
