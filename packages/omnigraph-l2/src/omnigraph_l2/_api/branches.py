"""The branches of a repository, as users make, list and delete them.

Invariant: a branch is there once its pointer is, and gone once that is gone; each is one
conditional write. What a crash leaves besides is in no writer's way. No data is copied, and the
cost does not depend on the number of tables. In which order a branch is deleted is decided in
``_branch.branch_deletion``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import attrs

from omnigraph_l1 import BranchInfo
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branch.branch_deletion import BranchDeletion
from omnigraph_l2._branch.native_branches import (
    fork_natives,
    remove_natives,
)
from omnigraph_l2._branch.revision_resolver import RevisionResolver
from omnigraph_l2._branch.snapshot import Snapshot
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._errors.translating import public_call
from omnigraph_l2._merge.merge_result import MergeResult, MergeStrategy
from omnigraph_l2._merge.merger import Merger, author_of
from omnigraph_l2._model.deadlines import OPERATION_SECONDS
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._store.branch_registry import (
    MAIN,
    BranchPointers,
    BranchRegistry,
    Pointer,
    is_hidden,
    native_name,
)
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.repository_root import RepositoryRoot, check_writable
from omnigraph_l2.errors import (
    BranchExists,
    InvalidRequest,
    OmniGraphError,
    UnknownBranch,
)

__all__ = ["Branch", "Branches"]


_POINTED = declare("l2.branch.pointed", "the pointer is there: so is the branch")


@attrs.frozen(kw_only=True)
class Branch:
    """What is known of a branch."""

    name: str
    native_branch: str | None
    """The Lance branch that the name means; None is main."""
    parent_branch: str | None
    """The branch that it started from, by the name of that time."""
    parent_manifest_version: int | None
    manifest_version: int
    """The head. ``list`` returns that of other branches than main as their pointers have it, which
    are behind where a writer died."""
    head_commit_id: str | None
    created_at: datetime | None
    updated_at: datetime | None


@attrs.frozen(kw_only=True)
class Branches:
    """The branches of a repository: ``repo.branches``."""

    _root: RepositoryRoot
    _pointers: BranchPointers
    _listing: BranchRegistry
    _log: CommitLog
    _references: RevisionResolver
    _clock: Callable[[], datetime]
    _open: Callable[[str], BranchSession]
    _deletion: BranchDeletion
    _merger: Callable[[str, MergeStrategy], Merger]
    _actor: str | None

    def create(
        self, name: str, source: str | int | Snapshot = MAIN, *, timeout: float = OPERATION_SECONDS
    ) -> Branch:
        """Start a branch: at the head of another, a tag, a commit (by id), or a snapshot.

        A number is a version of main.
        """
        with public_call(timeout):
            if name == MAIN:
                raise BranchExists(branch=name)
            native = native_name(name)
            check_writable(self._root)
            if self._is_there(name):
                raise BranchExists(branch=name)
            self._references.take_lease()
            start = self._references.find(source)
            self._references.check_retained(start)
            try:
                version = fork_natives(self._root, self._log, native, start)
                # A process that deletes the source looks for its branches after removing its name.
                self._references.check_retained(start)
            except OmniGraphError:
                remove_natives(self._root, native, ())
                self._references.check_retained(start)  # then that is the reason
                raise
            now = self._clock()
            pointer = Pointer(
                name=name,
                native_branch=native,
                parent_branch=start.branch,
                parent_manifest_version=start.version,
                manifest_version=version,
                head_commit_id=start.commit_id,
                created_at=now,
                updated_at=now,
            )
            if not self._pointers.create(pointer):
                remove_natives(self._root, native, ())
                raise BranchExists(branch=name)
            failpoint(_POINTED)
            return _of_pointer(pointer)

    def list(self, *, timeout: float = OPERATION_SECONDS) -> list[Branch]:
        """List all branches by name, main first. Internal ones are left out."""
        self._root.check_open()
        with public_call(timeout):
            pointers = self._listing.pointers()
            found = [_of_pointer(each) for each in pointers.values() if each.name != MAIN]
            for name, info in self._listing.without_pointer(pointers).items():
                found.append(self._describe(name, name, info))
            main = pointers.get(MAIN)
            first = self._describe(MAIN, None, None) if main is None else self._at_head(main)
            return [first, *sorted(found, key=lambda each: each.name)]

    def get(self, name: str, *, timeout: float = OPERATION_SECONDS) -> Branch:
        """Return a branch, with the head that counts: that of the catalog."""
        with public_call(timeout):
            native = self._listing.native(name)
            pointer = self._pointers.get(name)
            if pointer is None:
                info = self._root.open(MANIFEST).branches().get(name)
                return self._describe(name, native, info)
            return self._at_head(pointer)

    def delete(self, name: str, *, force: bool = False, timeout: float = OPERATION_SECONDS) -> None:
        """Delete a branch. With ``force`` also where others started from it, or tags name it.

        What those need stays until they are gone. Runs that are at work on it are aborted.
        """
        self._root.check_open()
        with public_call(timeout):
            if name == MAIN or is_hidden(name):
                reason = "main cannot be deleted" if name == MAIN else "it is internal to a run"
                raise InvalidRequest(what=f"branch {name!r}", reason=reason)
            check_writable(self._root)
            self._deletion.delete(name, force=force, timeout=timeout)

    def merge(
        self,
        source: str,
        into: str = MAIN,
        *,
        strategy: MergeStrategy = "error",
        dry_run: bool = False,
        actor: str | None = None,
        message: str | None = None,
        timeout: float = OPERATION_SECONDS,
    ) -> MergeResult:
        """Bring what was changed on a branch, or up to a tag or commit, into another branch.

        It is one commit with two parents. What both sides changed is ``MergeConflicts``, with all
        of them, and nothing is written; unless the strategy says that ``ours`` (the target's) or
        ``theirs`` counts, or is a function that is given each ``MergeConflict`` of a row and gives
        the row that shall be, None to delete it, or ``UNRESOLVED``. After a lost race it is asked
        again. A dry run gives the same result or conflicts, and writes nothing.
        """
        named = self._actor if actor is None else actor
        author = author_of(named, message, timeout)
        with public_call(timeout):
            return self._merger(into, strategy).merge(source, author, dry_run=dry_run)

    def _is_there(self, name: str) -> bool:
        try:
            native = self._listing.native(name)
        except UnknownBranch:
            return False
        return native is None or not self._deletion.finish(name, native)

    def _at_head(self, pointer: Pointer) -> Branch:
        branch = self._open(pointer.name)
        loaded = branch.catalog.refresh()
        head = branch.head(loaded.state)
        shown = attrs.evolve(_of_pointer(pointer), manifest_version=loaded.state.version)
        if head is None:
            return attrs.evolve(shown, head_commit_id=None)
        updated_at = max(pointer.updated_at, head.created_at)
        return attrs.evolve(shown, head_commit_id=head.graph_commit_id, updated_at=updated_at)

    def _describe(self, name: str, native: str | None, info: BranchInfo | None) -> Branch:
        """Describe a branch that has no pointer."""
        branch = self._open(name)
        loaded = branch.catalog.refresh()
        head = branch.head(loaded.state)
        return Branch(
            name=name,
            native_branch=native,
            parent_branch=None if info is None else (info.parent_branch or MAIN),
            parent_manifest_version=None if info is None else info.parent_version,
            manifest_version=loaded.state.version,
            head_commit_id=None if head is None else head.graph_commit_id,
            created_at=None if info is None else info.created_at,
            updated_at=None if head is None else head.created_at,
        )


def _of_pointer(pointer: Pointer) -> Branch:
    return Branch(
        name=pointer.name,
        native_branch=pointer.native_branch,
        parent_branch=pointer.parent_branch,
        parent_manifest_version=pointer.parent_manifest_version,
        manifest_version=pointer.manifest_version,
        head_commit_id=pointer.head_commit_id,
        created_at=pointer.created_at,
        updated_at=pointer.updated_at,
    )
