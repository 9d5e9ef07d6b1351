"""The branches that a repository handle has open, by name.

Always: what is given for a name is what the name means now. Where a branch was deleted and created
again, its old handle refuses to write, and the next one who asks gets another.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._branches.listing import Listing
from omnigraph_l2._branches.pointers import MAIN, Pointers
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._history.kept import KeptCommits
from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._leases.hold import MAIN_LINEAGE
from omnigraph_l2._leases.leases import Leases
from omnigraph_l2._manifest.catalog import VersionsRead
from omnigraph_l2._opening import check_may_publish
from omnigraph_l2._publishing.turns import Turns
from omnigraph_l2._storage import Root
from omnigraph_l2.errors import UnknownBranch

__all__ = ["OpenBranches"]


class OpenBranches:
    """Opens branches, and keeps them open. Threads may share it."""

    def __init__(
        self,
        root: Root,
        *,
        pointers: Pointers,
        listing: Listing,
        log: GraphLog,
        turns: Turns,
        leases: Leases,
    ) -> None:
        self._root = root
        self._pointers = pointers
        self._listing = listing
        self._log = log
        self._turns = turns
        self._leases = leases
        self._lock = threading.Lock()
        self._open: dict[str, GraphBranch] = {}

    def get(self, name: str) -> GraphBranch:
        """Open a branch, or raise ``UnknownBranch``. On main it costs nothing."""
        native = self._listing.native(name)
        with self._lock:
            known = self._open.get(name)
            if known is None or known.native != native:
                known = self._open[name] = self._made(name, native)
        return known

    def forget(self, name: str) -> None:
        """Let go of a branch that is gone."""
        with self._lock:
            self._open.pop(name, None)

    def find(self, commit_id: str) -> GraphCommit | None:
        """Find a commit on any branch, or of one that is gone: on main first, which costs least."""
        given: object = commit_id
        if not isinstance(given, str):
            return None
        found = self.get(MAIN).find(commit_id) or KeptCommits(self._root).find(commit_id)
        return found or self._found_on(self._others(), commit_id)

    def _found_on(self, names: Iterable[str], commit_id: str) -> GraphCommit | None:
        for name in names:
            try:
                found = self.get(name).find(commit_id)
            except UnknownBranch:
                continue  # deleted meanwhile
            if found is not None:
                return found
        return None

    def versions_read(self) -> dict[str, VersionsRead]:
        """Tell what was read of each branch of the catalog, by its native name."""
        with self._lock:
            branches = list(self._open.values())
        found = ((each.native or MAIN_LINEAGE, each.catalog.read) for each in branches)
        return {name: read for name, read in found if read is not None}

    def flush(self) -> None:
        """Complete the log of each branch that was published to through this handle."""
        with self._lock:
            branches = list(self._open.values())
        for branch in branches:
            if branch.has_published:
                try:
                    with branch.border():
                        branch.complete_log()
                except UnknownBranch:
                    self.forget(branch.name)

    def _others(self) -> Iterator[str]:
        with self._lock:
            tried = [name for name in self._open if name != MAIN]
        yield from tried
        seen = {MAIN, *tried}
        pointers = self._listing.pointers()
        yield from (name for name in pointers if name not in seen)
        others = self._listing.without_pointer(pointers, with_runs=True)
        yield from (name for name in others if name not in seen)

    def _made(self, name: str, native: str | None) -> GraphBranch:
        return GraphBranch(
            name,
            native,
            root=self._root,
            pointers=self._pointers,
            log=self._log,
            turns=self._turns,
            leases=self._leases,
            check=lambda: self._check(name, native),
        )

    def _check(self, name: str, native: str | None) -> None:
        check_may_publish(self._root)
        if not self._listing.means_still(name, native):
            raise UnknownBranch(place=self._root.place, branch=name)
