"""Resolve a branch, tag, commit id, version, time or snapshot to a revision of the graph.

Invariant: a revision is one version of one native branch of the catalog, up to one commit, and
immutable. The result is exactly what was requested, or a typed error that names it. A word means
the branch of that name, else the tag, else the commit with that id.

Invariant of ``check_retained``: it runs after a fork or tag on the revision is written; if it
fails, the caller removes that again. A head that was read under a lease is safe as long as the
lease is. For an older revision the check waits until no cleanup runs that may have missed the fork
or tag, and then looks for the files that the revision needs. So either the cleanup has seen it, or
this check finds what was removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any, Final

import attrs

from omnigraph_l1 import Table
from omnigraph_l1.errors import L1Error
from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._branch.snapshot import Snapshot, hold_of, state_of
from omnigraph_l2._catalog.catalog_state import CatalogState, TableEntry, as_of, empty_state
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._commit.lease_status import is_being_cleaned, store_time
from omnigraph_l2._commit.leases import Leases, Pin
from omnigraph_l2._model.argument_checks import invalid_argument
from omnigraph_l2._model.deadlines import CLEANUP_WAIT_SECONDS, wait_seconds
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._store.branch_registry import MAIN, BranchRegistry, has_unique_ending, is_hidden
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.manifest_store import Loaded, ManifestStore, read_rows
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2._store.tag_records import Tag, TagRecords
from omnigraph_l2.errors import (
    CorruptRepository,
    InvalidRequest,
    SnapshotExpired,
    TableContention,
    UnknownBranch,
    UnknownCommit,
    UnknownReference,
    UnknownVersion,
)

__all__ = ["Revision", "RevisionResolver"]

_POLL_SECONDS: Final = 0.05


@attrs.frozen(kw_only=True)
class Revision:
    """One revision of the graph."""

    branch: str
    """The name of the branch by which it was asked for; of the one that it is on otherwise."""
    native: str | None
    """The native branch of the catalog that it is on; None is main."""
    catalog: ManifestStore = attrs.field(repr=False, eq=False)
    loaded: Loaded = attrs.field(repr=False, eq=False)
    commit: GraphCommit | None
    """The commit that made it; None where there is no log."""
    sequence: int | None = None
    """The last commit that counts, where the version of the catalog holds later ones too."""
    hold: Pin | None = attrs.field(default=None, repr=False, eq=False)
    """What keeps it from being cleaned up, as long as this is there."""
    is_head: bool = False
    """Whether it was the head of its branch when it was looked for."""

    @property
    def version(self) -> int:
        """The version of the catalog."""
        return self.loaded.table.version

    @property
    def commit_id(self) -> str | None:
        """The id of the commit that made it."""
        return None if self.commit is None else self.commit.graph_commit_id

    def state(self) -> CatalogState:
        """Return what was visible: without what later commits of the same write made."""
        state = self.loaded.state
        if self.sequence is None:
            return state
        start = attrs.evolve(empty_state(state.location, self.native), version=state.version)
        return as_of(start, read_rows(self.loaded.table), self.sequence)

    def newest(self) -> Loaded:
        """Return the newest state of the branch that it is on."""
        return self.loaded if self.is_head else self.catalog.refresh()


@attrs.frozen(kw_only=True)
class RevisionResolver:
    """Finds revisions of the graph of a repository."""

    _root: RepositoryRoot
    _listing: BranchRegistry
    _log: CommitLog
    _tags: TagRecords
    _leases: Leases
    _open: Callable[[str], BranchSession]
    _find: Callable[[str], GraphCommit | None]
    _fence: Callable[[], None]

    def find(self, reference: Any, *, branch: str = MAIN) -> Revision:
        """Find what a user means: a branch, a tag, a commit id, a ``Snapshot``, a version (an int).

        The version is one of ``branch``.
        """
        if isinstance(reference, Snapshot):
            return self._of_snapshot(reference)
        if isinstance(reference, int) and not isinstance(reference, bool):
            return self.at_version(self._open(branch), reference)
        if not isinstance(reference, str):
            expected = "a branch, a tag, a commit id, a version or a Snapshot"
            raise invalid_argument(reference, "revision", expected)
        if not is_hidden(reference):
            try:
                return self.at_head(self._open(reference))
            except UnknownBranch:
                pass
        tag = self._tags.get(reference)
        found = self._of_commit_id(reference) if tag is None else self._of_tag(tag)
        if found is None:
            raise UnknownReference(location=self._root.location, reference=reference)
        return found

    def _of_commit_id(self, commit_id: str) -> Revision | None:
        """Find a commit on any branch, also one that only a tag still retains."""
        commit = self._find(commit_id)
        if commit is not None and self.has_data(commit):
            return self._at(self._name_of(commit.manifest_branch), commit)
        held = [each for each in self._tags.list() if each.graph_commit_id == commit_id]
        return self._of_tag(held[0]) if held else None

    def snapshot(
        self,
        branch: str,
        *,
        version: Any = None,
        commit: Any = None,
        tag: Any = None,
        as_of: Any = None,
    ) -> Snapshot:
        """Return the snapshot that is asked for in one of these ways; of the head without any."""
        ways = [each for each in (version, commit, tag, as_of) if each is not None]
        if len(ways) > 1:
            reason = "expected only one of version, commit, tag and as_of"
            raise InvalidRequest(what="combination of arguments", reason=reason)
        if tag is not None:
            return self.snapshot_of(self.at_tag(tag))
        opened = self._open(branch)
        if commit is not None:
            return self.snapshot_of(self._at_commit_anywhere(opened, commit))
        if as_of is not None:
            return self.snapshot_of(self.at_time(opened, as_of))
        if version is not None:
            return self.snapshot_of(self.at_version(opened, version))
        return self.snapshot_of(self.at_head(opened))

    def snapshot_of(self, revision: Revision) -> Snapshot:
        """Return the snapshot of a revision."""
        return Snapshot(
            self._root, revision.branch, revision.state(), revision.commit, revision.hold
        )

    def at_head(self, branch: BranchSession) -> Revision:
        """Find the head of a branch."""
        hold = self._leases.hold()
        loaded = branch.catalog.refresh()
        hold.narrow(branch.native, loaded.table.version, is_head=True)
        return Revision(
            branch=branch.name,
            native=branch.native,
            catalog=branch.catalog,
            loaded=loaded,
            commit=branch.head(loaded.state),
            hold=hold,
            is_head=True,
        )

    def at_version(self, branch: BranchSession, version: Any) -> Revision:
        """Find a version of a branch."""
        if isinstance(version, bool) or not isinstance(version, int):
            raise invalid_argument(version, "version", "a whole number")
        hold = self._leases.hold()
        loaded = self._load(branch.name, branch.catalog, version)
        hold.narrow(branch.native, version)
        return Revision(
            branch=branch.name,
            native=branch.native,
            catalog=branch.catalog,
            loaded=loaded,
            commit=branch.head(loaded.state),
            hold=hold,
        )

    def at_commit(self, branch: BranchSession, commit_id: str) -> Revision:
        """Find a commit of a branch, or of those that it comes from."""
        commit = branch.find(commit_id)
        if commit is None:
            raise UnknownCommit(commit_id=commit_id)
        return self.of_commit(branch, commit)

    def _at_commit_anywhere(self, branch: BranchSession, commit_id: str) -> Revision:
        """Find a commit of a branch, or of any other."""
        try:
            return self.at_commit(branch, commit_id)
        except UnknownCommit:
            found = self._of_commit_id(commit_id)
            if found is None:
                raise
            return found

    def of_commit(self, branch: BranchSession, commit: GraphCommit) -> Revision:
        """Return the revision of a commit that is known to be on a branch."""
        return self._at(branch.name, commit)

    def at_tag(self, name: Any) -> Revision:
        """Find what a tag names."""
        tag = self._tags.get(name)
        if tag is None:
            raise self._tags.unknown_tag(name)
        return self._of_tag(tag)

    def at_time(self, branch: BranchSession, time: Any) -> Revision:
        """Find the newest commit of a branch that is not after a time."""
        if not isinstance(time, datetime) or time.tzinfo is None:
            raise invalid_argument(time, "as_of", "a datetime with a time zone")
        for commit in branch.newest_first():
            if commit.created_at <= time:
                return self._at(branch.name, commit)
        raise UnknownVersion(branch=branch.name, version=f"at {time.isoformat()}")

    def has_data(self, commit: GraphCommit) -> bool:
        """Return whether the data of a commit can still exist: its branch may be deleted."""
        native = commit.manifest_branch
        if native is None or has_unique_ending(native):
            return native is None or self._is_needed(native)
        try:  # another publisher uses a name again
            return self._open(native).find(commit.graph_commit_id) is not None
        except UnknownBranch:
            return False

    def take_lease(self) -> None:
        """Take a lease if possible, so that a head that is found next is covered from then on."""
        self._leases.take()

    def check_retained(self, revision: Revision, *, not_by: str | None = None) -> None:
        """Raise ``UnknownBranch`` or ``SnapshotExpired`` if data of a revision is not retained.

        A fork or a tag on a revision is made first and then checked by this: a process that
        removes a name looks for forks and tags after the removal. ``not_by`` is a tag that
        does not count.
        """
        if revision.loaded.state.closed_at:
            raise UnknownBranch(location=self._root.location, branch=revision.branch)
        self._check_named(revision, not_by)
        self._check_not_cleaned_up(revision)

    def _check_named(self, revision: Revision, not_by: str | None) -> None:
        try:
            if self._listing.native(revision.branch) == revision.native:
                return
        except UnknownBranch:
            pass
        if revision.native is not None and not self._is_needed(revision.native, not_by):
            raise UnknownBranch(location=self._root.location, branch=revision.branch)

    def _is_needed(self, native: str, not_by: str | None = None) -> bool:
        """Return whether a native branch is needed by a name; then all of it is retained."""
        if self._find_name(native) is not None:
            return True
        tags = [each.native_branch for each in self._tags.list() if each.name != not_by]
        return native in self._listing.needed_branches(tags)

    def _of_snapshot(self, snapshot: Snapshot) -> Revision:
        state = state_of(snapshot)
        catalog = self._catalog(snapshot.branch, state.branch)
        revision = self._on(
            snapshot.branch, catalog, state.version, snapshot.commit, state.last_sequence
        )
        return attrs.evolve(revision, hold=hold_of(snapshot) or revision.hold)

    def _of_tag(self, tag: Tag) -> Revision:
        catalog = self._catalog(tag.branch, tag.native_branch)
        try:
            revision = self._on(tag.branch, catalog, tag.manifest_version, None, tag.sequence)
            state = revision.loaded.state
            made = state.commit(tag.graph_commit_id)
            commit = (
                self._log.find(tag.graph_commit_id, tag.native_branch)
                if made is None
                else made.commit
            )
        except (UnknownBranch, UnknownVersion, SnapshotExpired) as error:
            detail = "the version of the catalog that it names is not there any more"
            raise CorruptRepository(
                location=self._root.location, item=f"tag {tag.name}", detail=detail
            ) from error
        return attrs.evolve(revision, commit=commit)

    def _at(self, name: str, commit: GraphCommit) -> Revision:
        catalog = self._catalog(name, commit.manifest_branch)
        return self._on(name, catalog, commit.manifest_version, commit, None)

    def _on(
        self,
        name: str,
        catalog: ManifestStore,
        version: int,
        commit: GraphCommit | None,
        sequence: int | None,
    ) -> Revision:
        hold = self._leases.hold()
        loaded = self._load(name, catalog, version)
        if sequence is None and commit is not None:
            made = loaded.state.commit(commit.graph_commit_id)
            sequence = None if made is None else made.sequence
        # Several commits in one write: then the later ones do not count.
        until = None if sequence == loaded.state.last_sequence else sequence
        hold.narrow(catalog.branch, version if until is None else version - 1)
        return Revision(
            branch=name,
            native=catalog.branch,
            catalog=catalog,
            loaded=loaded,
            commit=commit,
            sequence=until,
            hold=hold,
        )

    def _load(self, name: str, catalog: ManifestStore, version: int) -> Loaded:
        """Read a version of the catalog; distinguish a removed one from one that never existed."""
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

    def _check_not_cleaned_up(self, revision: Revision) -> None:
        """Raise ``SnapshotExpired`` if anything that a revision needs was removed."""
        hold = revision.hold
        if hold is not None and hold.generation is not None and hold.is_of_head:
            hold.check()
            return
        self.outlast_cleanups()
        versions = self._root.open(MANIFEST, branch=revision.native).versions()
        if revision.version not in versions:
            raise SnapshotExpired(branch=revision.branch, version=revision.version)
        now = revision.newest().state.tables
        older = [each for key, each in revision.state().tables.items() if now.get(key) != each]
        self._root.at_once(lambda entry: _check_there(self._root, entry), older)

    def outlast_cleanups(self) -> None:
        """Wait until no cleanup is running that began before; raise ``TableContention``."""
        with suppress(L1Error):
            self._leases.renew()  # it says what time it is there; else this machine's has to do
        began, patience = time.monotonic(), wait_seconds(CLEANUP_WAIT_SECONDS)
        now = store_time(self._root, self._leases.name) or datetime.now(timezone.utc)

        def store_now() -> datetime:
            return now + timedelta(seconds=time.monotonic() - began)

        while is_being_cleaned(self._root, store_now(), self._fence):
            if time.monotonic() - began > patience:
                detail = f"a cleanup has been running for {patience:g} s. Try again when it ends"
                raise TableContention(location=self._root.location, detail=detail)
            time.sleep(_POLL_SECONDS)

    def _catalog(self, name: str, native: str | None) -> ManifestStore:
        """Open the catalog on a native branch, because the name may now mean another one."""
        try:
            branch = self._open(MAIN if native is None else name)
        except UnknownBranch:
            return ManifestStore(self._root, native, name)
        # What a branch took over from where it started is in the versions of that one.
        return (
            branch.catalog if branch.native == native else ManifestStore(self._root, native, name)
        )

    def _name_of(self, native: str | None) -> str:
        if native is None:
            return MAIN
        return self._find_name(native) or native

    def _find_name(self, native: str) -> str | None:
        for pointer in self._listing.pointers().values():
            if pointer.native_branch == native:
                return pointer.name
        try:
            return native if self._listing.native(native) == native else None
        except UnknownBranch:
            return None


def _check_there(root: RepositoryRoot, entry: TableEntry) -> None:
    """Read what is in the store, without the caches of an open handle."""
    try:
        Table.open(
            root.child(entry.table_path), branch=entry.table_branch, version=entry.table_version
        )
    except NoSuchVersion as error:
        raise SnapshotExpired(
            table_key=entry.table_key, table_version=entry.table_version
        ) from error
