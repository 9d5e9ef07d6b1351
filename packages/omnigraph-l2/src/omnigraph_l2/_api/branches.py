"""The branches of a repository, as users make, list and delete them.

Invariant: a branch is there once its pointer is, and gone once that is gone; each is one
conditional write. Before its pointer goes, its catalog is closed, so that nothing is published on
it any more, and its commits are archived; who meets a closed branch finishes its deletion. What a
crash leaves besides never gets in anybody's way. No data is copied, and the cost does not depend on
the number of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Protocol

import attrs

from omnigraph_l1 import BranchInfo
from omnigraph_l1.errors import InvalidRequest as RefusedByLance
from omnigraph_l1.errors import UnknownBranch as NoSuchBranch
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branch.native_branches import (
    fork_natives,
    keep_history,
    owned_tables,
    remove_natives,
)
from omnigraph_l2._branch.revision_resolver import RevisionResolver
from omnigraph_l2._branch.snapshot import Snapshot
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._errors.translating import translate_errors
from omnigraph_l2._merge.merge_result import MergeResult, MergeStrategy
from omnigraph_l2._merge.merger import Merger, author_of
from omnigraph_l2._model.deadlines import OPERATION_SECONDS, waiting
from omnigraph_l2._model.events import emit
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._store.branch_registry import (
    MAIN,
    BranchPointers,
    BranchRegistry,
    Children,
    Pointer,
    is_hidden,
    native_name,
)
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.manifest_store import load
from omnigraph_l2._store.repository_root import RepositoryRoot, check_writable
from omnigraph_l2._store.tag_records import TagRecords
from omnigraph_l2.errors import (
    BranchExists,
    BranchInUse,
    CorruptRepository,
    InvalidRequest,
    OmniGraphError,
    UnknownBranch,
)

__all__ = ["Branch", "Branches", "RunsAtWork"]


_CLOSED = declare("l2.branch.closed", "nothing can be published on the branch; its name is there")
_POINTED = declare("l2.branch.pointed", "the pointer is there: so is the branch")
_UNNAMED = declare("l2.branch.unnamed", "the pointer is gone: so is the branch; its data is not")


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
    """The head. ``list`` gives it as the pointer has it: behind, where a writer died."""
    head_commit_id: str | None
    created_at: datetime | None
    updated_at: datetime | None


class RunsAtWork(Protocol):
    """What branches have to know of runs."""

    def live(self, run_ids: Sequence[str]) -> tuple[str, ...]:
        """Return which of these are running."""

    def end_all(self, run_ids: Sequence[str]) -> None:
        """Abort those that are running, and remove the branches of all."""


@attrs.frozen(kw_only=True)
class Branches:
    """The branches of a repository: ``repo.branches``."""

    _root: RepositoryRoot
    _pointers: BranchPointers
    _listing: BranchRegistry
    _log: CommitLog
    _references: RevisionResolver
    _tags: TagRecords
    _clock: Callable[[], datetime]
    _open: Callable[[str], BranchSession]
    _forget: Callable[[str], None]
    _runs: RunsAtWork
    _merger: Callable[[str, MergeStrategy], Merger]
    _actor: str | None

    def create(
        self, name: str, source: str | int | Snapshot = MAIN, *, timeout: float = OPERATION_SECONDS
    ) -> Branch:
        """Start a branch: at the head of another, a tag, a commit (by id), or a snapshot.

        A number is a version of main.
        """
        with translate_errors(), waiting(timeout):
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
        with translate_errors(), waiting(timeout):
            pointers = self._listing.pointers()
            found = [_of_pointer(each) for each in pointers.values() if each.name != MAIN]
            for name, info in self._listing.without_pointer(pointers).items():
                found.append(self._describe(name, name, info))
            main = pointers.get(MAIN)
            first = self._describe(MAIN, None, None) if main is None else _of_pointer(main)
            return [first, *sorted(found, key=lambda each: each.name)]

    def get(self, name: str, *, timeout: float = OPERATION_SECONDS) -> Branch:
        """Return a branch, with the head that counts: that of the catalog."""
        with translate_errors(), waiting(timeout):
            native = self._listing.native(name)
            pointer = self._pointers.get(name)
            if pointer is None:
                info = self._root.open(MANIFEST).branches().get(name)
                return self._describe(name, native, info)
            loaded = self._open(name).catalog.refresh()
            head = self._open(name).head(loaded.state)
            return attrs.evolve(
                _of_pointer(pointer),
                manifest_version=loaded.state.version,
                head_commit_id=None if head is None else head.graph_commit_id,
            )

    def delete(self, name: str, *, force: bool = False, timeout: float = OPERATION_SECONDS) -> None:
        """Delete a branch. With ``force`` also where others started from it, or tags name it.

        What those need stays until they are gone. Runs that are at work on it are aborted.
        """
        self._root.check_open()
        with translate_errors(), waiting(timeout):
            if name == MAIN or is_hidden(name):
                reason = "main cannot be deleted" if name == MAIN else "it is internal to a run"
                raise InvalidRequest(what=f"branch {name!r}", reason=reason)
            check_writable(self._root)
            native = self._listing.native(name) or name
            children = self._listing.children(native)
            live = self._runs.live(children.runs)
            tags = self._tags_on(native)
            if (children.branches or live or tags) and not force:
                raise BranchInUse(branch=name, children=children.branches, runs=live, tags=tags)
            if native == name and (children.branches or children.runs or tags):
                # Another publisher made it: its native branch is all there is, and they need it.
                raise BranchInUse(
                    branch=name, children=children.branches, runs=children.runs, tags=tags
                )
            branch = self._open(name)
            is_mine = False
            with suppress(CorruptRepository):  # then no publish on it succeeds either
                is_mine = branch.close(native, timeout=timeout)
            failpoint(_CLOSED)
            try:
                with branch.translate_log_errors():
                    self._remove(name, native)
            except UnknownBranch:
                if not is_mine:  # others may finish what was decided here
                    raise

    def finish_deletion(self, name: str, native: str) -> bool:
        """Finish a deletion that was begun and cut short; return whether there is such a one.

        It never fails: what cannot be removed now is removed by the next one, or by cleaning.
        """
        try:
            with translate_errors():
                table = self._root.open(MANIFEST, branch=native)
                if not load(table, self._root.location).state.closed_at:
                    return False
                self._remove(name, native)
        except UnknownBranch:
            return True
        except OmniGraphError as error:
            emit(
                "branch_left_behind", location=self._root.location, branch=native, error=str(error)
            )
            return False
        return True

    def finish_deletions(self) -> None:
        """Finish all deletions that were begun and cut short."""
        for pointer in self._listing.pointers().values():
            if pointer.native_branch is not None:
                self.finish_deletion(pointer.name, pointer.native_branch)

    def _remove(self, name: str, native: str) -> None:
        """Remove a branch that is closed: archive its commits, then its name, then its data."""
        tables = self._tables_of(native)
        children = self._listing.children(native)
        keep_history(self._root, native)
        self._unname(name, native, children)
        self._forget(name)
        failpoint(_UNNAMED)
        self._runs.end_all(children.runs)
        if not self._tags_on(native):
            remove_natives(self._root, native, tables)

    def _tags_on(self, native: str) -> tuple[str, ...]:
        """Name the tags whose commit is on a native branch."""
        return tuple(each.name for each in self._tags.list() if each.native_branch == native)

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
        with translate_errors(), waiting(timeout):
            return self._merger(into, strategy).merge(source, author, dry_run=dry_run)

    def _unname(self, name: str, native: str, children: Children) -> None:
        """Take the name away: from then on there is no such branch."""
        if self._pointers.delete(name, native):
            return
        if native != name:
            raise UnknownBranch(location=self._root.location, branch=name)
        try:
            self._root.open(MANIFEST).delete_branch(native)
        except NoSuchBranch as error:
            raise UnknownBranch(location=self._root.location, branch=name) from error
        except RefusedByLance as error:
            raise BranchInUse(
                branch=name, children=children.branches, runs=children.runs
            ) from error

    def _tables_of(self, native: str) -> Sequence[tuple[str, str]]:
        try:
            with translate_errors():
                table = self._root.open(MANIFEST, branch=native)
                return owned_tables(load(table, self._root.location).state)
        except UnknownBranch:
            raise
        except OmniGraphError:
            return ()  # damaged: it can be deleted all the same, cleaning finds the rest

    def _is_there(self, name: str) -> bool:
        try:
            native = self._listing.native(name)
        except UnknownBranch:
            return False
        return native is None or not self.finish_deletion(name, native)

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
