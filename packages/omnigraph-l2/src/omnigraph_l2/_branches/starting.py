"""Where a branch starts: at the head of another, at a commit of any branch, or at a snapshot.

Always: what was asked for is given, or a typed error that names it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._branches.listing import Listing
from omnigraph_l2._branches.making import Start
from omnigraph_l2._branches.names import is_hidden
from omnigraph_l2._branches.pointers import MAIN
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._manifest.catalog import Loaded
from omnigraph_l2._snapshots import Snapshot, state_of
from omnigraph_l2._storage import Root
from omnigraph_l2.errors import (
    InvalidRequest,
    UnknownBranch,
    UnknownVersion,
)

__all__ = ["Starts"]


@attrs.frozen(kw_only=True)
class Starts:
    """Finds the moment at which a branch shall start."""

    _root: Root
    _listing: Listing
    _open: Callable[[str], GraphBranch]
    _find: Callable[[str], GraphCommit | None]

    def find(self, source: Any) -> tuple[Start, Loaded]:
        """Find the start, and the newest state of the branch that it is on."""
        if isinstance(source, Snapshot):
            commit_id = None if source.commit is None else source.commit.graph_commit_id
            state = state_of(source)
            return self._at(state.branch, state.version, commit_id, state.last_sequence)
        if not isinstance(source, str):
            reason = f"the source is a branch, a commit id or a Snapshot, not {source!r}"
            raise InvalidRequest(what="Starting a branch", reason=reason)
        if not is_hidden(source):
            try:
                return self.at_head(self._open(source))
            except UnknownBranch:
                pass
        commit = self._find(source)
        if commit is None:
            raise UnknownBranch(place=self._root.place, branch=source)
        return self._at(commit.manifest_branch, commit.manifest_version, commit.graph_commit_id)

    def at_head(self, branch: GraphBranch) -> tuple[Start, Loaded]:
        """Start at the head of a branch."""
        loaded = branch.catalog.refresh()
        head = branch.head(loaded.state)
        start = Start(
            branch=branch.name,
            native=branch.native,
            loaded=loaded,
            head_commit_id=None if head is None else head.graph_commit_id,
        )
        return start, loaded

    def check_still_there(self, start: Start) -> None:
        """Raise ``UnknownBranch`` where the branch that was started from was deleted meanwhile."""
        if self._listing.native(start.branch) != start.native:
            raise UnknownBranch(place=self._root.place, branch=start.branch)

    def _at(
        self, native: str | None, version: int, commit_id: str | None, sequence: int | None = None
    ) -> tuple[Start, Loaded]:
        branch = self._open(self._named(native))
        if branch.native != native:
            raise UnknownBranch(place=self._root.place, branch=branch.name)
        newest = branch.catalog.refresh()
        try:
            loaded = branch.catalog.at(version)
        except NoSuchVersion as error:
            raise UnknownVersion(branch=branch.name, version=version) from error
        if sequence is None:
            made = None if commit_id is None else loaded.state.commit(commit_id)
            sequence = None if made is None else made.sequence
        if sequence == loaded.state.last_sequence:
            sequence = None
        start = Start(
            branch=branch.name,
            native=native,
            loaded=loaded,
            head_commit_id=commit_id,
            sequence=sequence,
        )
        return start, newest

    def _named(self, native: str | None) -> str:
        if native is None:
            return MAIN
        for pointer in self._listing.pointers().values():
            if pointer.native_branch == native:
                return pointer.name
        try:
            self._listing.native(native)
        except UnknownBranch as error:
            reason = f"the branch that it was made on ({native}) was deleted"
            raise InvalidRequest(what="Starting a branch", reason=reason) from error
        return native
