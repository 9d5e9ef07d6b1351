"""Finding the moment that is meant: by a branch, a tag, a commit id, a version, a time, a snapshot.

Always: what was asked for is given, or a typed error that names it; never something near it. A word
means the branch of that name, else the tag, else the commit of that id.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs

from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._branches.listing import Listing
from omnigraph_l2._branches.names import has_unique_ending, is_hidden
from omnigraph_l2._branches.pointers import MAIN
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._leases import Leases
from omnigraph_l2._manifest.catalog import Catalog, Loaded
from omnigraph_l2._references.keeping import check_kept
from omnigraph_l2._references.moment import Moment
from omnigraph_l2._references.tag_refs import Tag, TagRefs
from omnigraph_l2._snapshots import Snapshot, hold_of, state_of
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST
from omnigraph_l2.errors import (
    CorruptRepository,
    InvalidRequest,
    SnapshotExpired,
    UnknownBranch,
    UnknownCommit,
    UnknownReference,
    UnknownVersion,
)

__all__ = ["References"]


@attrs.frozen(kw_only=True)
class References:
    """Finds moments of the graph of a repository."""

    _root: Root
    _listing: Listing
    _log: GraphLog
    _tags: TagRefs
    _leases: Leases
    _open: Callable[[str], GraphBranch]
    _find: Callable[[str], GraphCommit | None]

    def find(self, reference: Any, *, branch: str = MAIN) -> Moment:
        """Find what a user means: a branch, a tag, a commit id, a ``Snapshot``, a version (an int).

        The version is one of ``branch``.
        """
        if isinstance(reference, Snapshot):
            return self._of_snapshot(reference)
        if isinstance(reference, int) and not isinstance(reference, bool):
            return self.at_version(self._open(branch), reference)
        if not isinstance(reference, str):
            reason = (
                "a moment is named by a branch, a tag, a commit id, a version or a Snapshot, not "
                f"by {reference!r}"
            )
            raise InvalidRequest(what="This", reason=reason)
        if not is_hidden(reference):
            try:
                return self.at_head(self._open(reference))
            except UnknownBranch:
                pass
        tag = self._tags.get(reference)
        if tag is not None:
            return self._of_tag(tag)
        commit = self._find(reference)
        if commit is not None and self.has_data(commit):
            return self._at(self._name_of(commit.manifest_branch), commit)
        held = [each for each in self._tags.list() if each.graph_commit_id == reference]
        if held:
            return self._of_tag(held[0])
        raise UnknownReference(place=self._root.place, reference=reference)

    def snapshot(
        self,
        branch: str,
        *,
        version: Any = None,
        commit: Any = None,
        tag: Any = None,
        as_of: Any = None,
    ) -> Snapshot:
        """Give the snapshot that is asked for in one of these ways; of the head without any."""
        ways = [each for each in (version, commit, tag, as_of) if each is not None]
        if len(ways) > 1:
            reason = "version, commit, tag and as_of each name a moment; give one of them"
            raise InvalidRequest(what="A snapshot", reason=reason)
        if tag is not None:
            return self.shown(self.at_tag(tag))
        opened = self._open(branch)
        if commit is not None:
            return self.shown(self.at_commit(opened, commit))
        if as_of is not None:
            return self.shown(self.at_time(opened, as_of))
        if version is not None:
            return self.shown(self.at_version(opened, version))
        return self.shown(self.at_head(opened))

    def shown(self, moment: Moment) -> Snapshot:
        """Give the snapshot of a moment."""
        return Snapshot(self._root, moment.branch, moment.state(), moment.commit, moment.hold)

    def at_head(self, branch: GraphBranch) -> Moment:
        """Find the head of a branch."""
        hold = self._leases.hold()
        loaded = branch.catalog.refresh()
        hold.settle(branch.native, loaded.table.version, is_head=True)
        return Moment(
            branch=branch.name,
            native=branch.native,
            catalog=branch.catalog,
            loaded=loaded,
            commit=branch.head(loaded.state),
            hold=hold,
            is_head=True,
        )

    def at_version(self, branch: GraphBranch, version: Any) -> Moment:
        """Find a version of a branch."""
        if isinstance(version, bool) or not isinstance(version, int):
            reason = f"a version is a whole number, found {version!r}"
            raise InvalidRequest(what="A snapshot", reason=reason)
        hold = self._leases.hold()
        loaded = self._loaded(branch.name, branch.catalog, version)
        hold.settle(branch.native, version)
        return Moment(
            branch=branch.name,
            native=branch.native,
            catalog=branch.catalog,
            loaded=loaded,
            commit=branch.head(loaded.state),
            hold=hold,
        )

    def at_commit(self, branch: GraphBranch, commit_id: str) -> Moment:
        """Find a commit of a branch, or of those that it comes from."""
        commit = branch.find(commit_id)
        if commit is None:
            raise UnknownCommit(commit_id=commit_id)
        return self.of_commit(branch, commit)

    def of_commit(self, branch: GraphBranch, commit: GraphCommit) -> Moment:
        """Give the moment of a commit that is known to be on a branch."""
        return self._at(branch.name, commit)

    def at_tag(self, name: Any) -> Moment:
        """Find what a tag names."""
        tag = self._tags.get(name)
        if tag is None:
            raise self._tags.unknown(name)
        return self._of_tag(tag)

    def at_time(self, branch: GraphBranch, moment: Any) -> Moment:
        """Find the newest commit of a branch that is not after a time."""
        if not isinstance(moment, datetime) or moment.tzinfo is None:
            reason = f"as_of is a datetime with a time zone, found {moment!r}"
            raise InvalidRequest(what="A snapshot", reason=reason)
        for commit in branch.newest_first():
            if commit.created_at <= moment:
                return self._at(branch.name, commit)
        raise UnknownVersion(branch=branch.name, version=f"at {moment.isoformat()}")

    def has_data(self, commit: GraphCommit) -> bool:
        """Tell whether what a commit has made can still be there: its branch may be gone."""
        native = commit.manifest_branch
        if native is None or has_unique_ending(native):
            return native is None or self._is_needed(native)
        try:  # the original program gives a name again
            return self._open(native).find(commit.graph_commit_id) is not None
        except UnknownBranch:
            return False

    def check_held(self, moment: Moment, *, not_by: str | None = None) -> None:
        """Raise ``UnknownBranch`` or ``SnapshotExpired`` where what a moment needs is not kept.

        Who makes something last that stands on a moment asks afterwards: whoever takes a name away
        looks for such things after that. ``not_by`` is a tag that does not count.
        """
        self._check_named(moment, not_by)
        check_kept(self._root, self._leases, moment)

    def _check_named(self, moment: Moment, not_by: str | None) -> None:
        try:
            if self._listing.native(moment.branch) == moment.native:
                return
        except UnknownBranch:
            pass
        if moment.native is not None and not self._is_needed(moment.native, not_by):
            raise UnknownBranch(place=self._root.place, branch=moment.branch)

    def _is_needed(self, native: str, not_by: str | None = None) -> bool:
        """Tell whether somebody needs a native branch: it is kept whole then."""
        if self._named(native) is not None:
            return True
        tags = [each.native_branch for each in self._tags.list() if each.name != not_by]
        return native in self._listing.needed(tags)

    def _of_snapshot(self, snapshot: Snapshot) -> Moment:
        state = state_of(snapshot)
        catalog = self._catalog(snapshot.branch, state.branch)
        moment = self._on(
            snapshot.branch, catalog, state.version, snapshot.commit, state.last_sequence
        )
        return attrs.evolve(moment, hold=hold_of(snapshot) or moment.hold)

    def _of_tag(self, tag: Tag) -> Moment:
        catalog = self._catalog(tag.branch, tag.native_branch)
        try:
            moment = self._on(tag.branch, catalog, tag.manifest_version, None, tag.sequence)
            state = moment.loaded.state
            made = state.commit(tag.graph_commit_id)
            commit = (
                self._log.find(tag.graph_commit_id, tag.native_branch)
                if made is None
                else made.commit
            )
        except (UnknownBranch, UnknownVersion, SnapshotExpired) as error:
            detail = "the version of the catalog that it names is not there any more"
            raise CorruptRepository(
                place=self._root.place, item=f"tag {tag.name}", detail=detail
            ) from error
        return attrs.evolve(moment, commit=commit)

    def _at(self, name: str, commit: GraphCommit) -> Moment:
        catalog = self._catalog(name, commit.manifest_branch)
        return self._on(name, catalog, commit.manifest_version, commit, None)

    def _on(
        self,
        name: str,
        catalog: Catalog,
        version: int,
        commit: GraphCommit | None,
        sequence: int | None,
    ) -> Moment:
        hold = self._leases.hold()
        loaded = self._loaded(name, catalog, version)
        if sequence is None and commit is not None:
            made = loaded.state.commit(commit.graph_commit_id)
            sequence = None if made is None else made.sequence
        # Several commits in one write: then the later ones do not count.
        until = None if sequence == loaded.state.last_sequence else sequence
        hold.settle(catalog.branch, version if until is None else version - 1)
        return Moment(
            branch=name,
            native=catalog.branch,
            catalog=catalog,
            loaded=loaded,
            commit=commit,
            sequence=until,
            hold=hold,
        )

    def _loaded(self, name: str, catalog: Catalog, version: int) -> Loaded:
        """Read a version of the catalog; tell one that was cleaned up from one that never was."""
        try:
            return catalog.at(version)
        except NoSuchVersion as error:
            first = 1
            if catalog.branch is not None:
                info = self._root.open(MANIFEST).branches().get(catalog.branch)
                first = version if info is None else info.parent_version
            if first <= version < catalog.refresh().state.version:
                raise SnapshotExpired(branch=name, version=version) from error
            raise UnknownVersion(branch=name, version=version) from error

    def _catalog(self, name: str, native: str | None) -> Catalog:
        """Open the catalog on a native branch; what a name means may be another by now."""
        try:
            branch = self._open(MAIN if native is None else name)
        except UnknownBranch:
            return Catalog(self._root, native, name)
        # What a branch took over from where it started is in the versions of that one.
        return branch.catalog if branch.native == native else Catalog(self._root, native, name)

    def _name_of(self, native: str | None) -> str:
        if native is None:
            return MAIN
        return self._named(native) or native

    def _named(self, native: str) -> str | None:
        for pointer in self._listing.pointers().values():
            if pointer.native_branch == native:
                return pointer.name
        try:
            return native if self._listing.native(native) == native else None
        except UnknownBranch:
            return None
