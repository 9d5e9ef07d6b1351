"""Delete a branch, in an order that leaves nothing acknowledged behind.

1. Close it: a row that takes the next sequence number, after which no publish succeeds.
2. Archive its commits.
3. Remove its pointer: from then on there is no such branch.
4. Remove its native branches, as far as nothing else needs them.

Invariant: the next process that meets a closed branch finishes its deletion, so that a crash
between two steps only delays it. Runs and tags that need the data keep it until they are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

import attrs

from omnigraph_l1.errors import InvalidRequest as RefusedByLance
from omnigraph_l1.errors import UnknownBranch as NoSuchBranch
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branch.native_branches import keep_history, owned_tables, remove_natives
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._errors.translating import translate_errors
from omnigraph_l2._model.events import emit
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._store.branch_registry import (
    BranchPointers,
    BranchRegistry,
    Children,
    run_of,
)
from omnigraph_l2._store.manifest_store import load
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2._store.tag_records import TagRecords
from omnigraph_l2.errors import BranchInUse, CorruptRepository, OmniGraphError, UnknownBranch

__all__ = ["BranchDeletion", "RunsAtWork"]

_CLOSED = declare("l2.branch.closed", "nothing can be published on the branch; its name is there")
_UNNAMED = declare("l2.branch.unnamed", "the pointer is gone: so is the branch; its data is not")


class RunsAtWork(Protocol):
    """What branches have to know of runs."""

    def live(self, run_ids: Sequence[str]) -> tuple[str, ...]:
        """Return which of these are running."""

    def end_all(self, run_ids: Sequence[str]) -> None:
        """Abort those that are running, and remove the branches of all."""


@attrs.frozen(kw_only=True)
class BranchDeletion:
    """Deletes branches of a repository, and finishes deletions that were cut short."""

    root: RepositoryRoot
    pointers: BranchPointers
    listing: BranchRegistry
    tags: TagRecords
    runs: RunsAtWork
    open: Callable[[str], BranchSession]
    forget: Callable[[str], None]

    def delete(self, name: str, *, force: bool, timeout: float) -> None:
        """Delete a branch; raise ``BranchInUse`` if others need it, unless it is forced."""
        native = self.listing.native(name) or name
        children = self.listing.children(native)
        live = self.runs.live(children.runs)
        tags = self._tags_on(native)
        if (children.branches or live or tags) and not force:
            raise BranchInUse(branch=name, children=children.branches, runs=live, tags=tags)
        if native == name and (children.branches or children.runs or tags):
            # Another publisher made it: its native branch is all there is, and they need it.
            raise BranchInUse(
                branch=name, children=children.branches, runs=children.runs, tags=tags
            )
        branch = self.open(name)
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

    def finish(self, name: str, native: str) -> bool:
        """Finish a deletion that was begun and cut short; return whether there is such a one.

        It never fails: what cannot be removed now is removed by the next one, or by cleaning. The
        branch of a run that is being published is closed, too, and is removed after that.
        """
        if run_of(native) is not None:
            return False
        try:
            with translate_errors():
                table = self.root.open(MANIFEST, branch=native)
                if not load(table, self.root.location).state.closed_at:
                    return False
                self._remove(name, native)
        except UnknownBranch:
            return True
        except OmniGraphError as error:
            emit("branch_left_behind", location=self.root.location, branch=native, error=str(error))
            return False
        return True

    def finish_all(self) -> None:
        """Finish all deletions that were begun and cut short."""
        for pointer in self.listing.pointers().values():
            if pointer.native_branch is not None:
                self.finish(pointer.name, pointer.native_branch)

    def _remove(self, name: str, native: str) -> None:
        """Remove a branch that is closed: archive its commits, then its name, then its data."""
        tables = self._tables_of(native)
        children = self.listing.children(native)
        keep_history(self.root, native)
        self._unname(name, native, children)
        self.forget(name)
        failpoint(_UNNAMED)
        self.runs.end_all(children.runs)
        if not self._tags_on(native):
            remove_natives(self.root, native, tables)

    def _unname(self, name: str, native: str, children: Children) -> None:
        """Take the name away: from then on there is no such branch."""
        if self.pointers.delete(name, native):
            return
        if native != name:
            raise UnknownBranch(location=self.root.location, branch=name)
        try:
            self.root.open(MANIFEST).delete_branch(native)
        except NoSuchBranch as error:
            raise UnknownBranch(location=self.root.location, branch=name) from error
        except RefusedByLance as error:
            raise BranchInUse(
                branch=name, children=children.branches, runs=children.runs
            ) from error

    def _tables_of(self, native: str) -> Sequence[tuple[str, str]]:
        try:
            with translate_errors():
                table = self.root.open(MANIFEST, branch=native)
                return owned_tables(load(table, self.root.location).state)
        except UnknownBranch:
            raise
        except OmniGraphError:
            return ()  # damaged: it can be deleted all the same, cleaning finds the rest

    def _tags_on(self, native: str) -> tuple[str, ...]:
        """Name the tags whose commit is on a native branch."""
        return tuple(each.name for each in self.tags.list() if each.native_branch == native)
