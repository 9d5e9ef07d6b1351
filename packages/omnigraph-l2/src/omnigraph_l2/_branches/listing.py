"""Which graph branches there are, what each name means, and who started from whom.

Always: a pointer decides what a name means. Without one, a native branch of the catalog under that
very name counts, which the original program (or a run) made; a native branch of ours without its
pointer is none: its making, or its removal, was cut short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from omnigraph_l1 import BranchInfo
from omnigraph_l1.errors import InvalidName
from omnigraph_l2._branches.names import has_unique_ending, is_hidden, run_of
from omnigraph_l2._branches.pointers import MAIN, Pointer, Pointers
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST, SCHEMA_LOCK_BRANCH
from omnigraph_l2.errors import InvalidBranchName, UnknownBranch

__all__ = ["Children", "Listing", "with_parents"]


def with_parents(needed: Iterable[str | None], natives: Mapping[str, BranchInfo]) -> frozenset[str]:
    """Add what native branches stand on, and leave main out."""
    found: set[str] = set()
    left = {each for each in needed if each is not None}
    while left:
        found |= left
        above = {natives[each].parent_branch for each in left if each in natives}
        left = {each for each in above if each is not None} - found
    return frozenset(found)


@attrs.frozen(kw_only=True)
class Children:
    """What started from a branch and is there still."""

    branches: tuple[str, ...]
    """Names of graph branches."""
    runs: tuple[str, ...]
    """Runs whose branch is there, whatever became of them."""


@attrs.frozen
class Listing:
    """The branches of a repository."""

    _root: Root
    _pointers: Pointers

    def native(self, name: Any) -> str | None:
        """Tell the native branch that a name means (None is main), or raise ``UnknownBranch``."""
        if name == MAIN:
            return None
        if not isinstance(name, str):
            raise InvalidBranchName(name=repr(name), rule="it is text")
        try:
            pointer = self._pointers.get(name)
            if pointer is not None:
                return pointer.native_branch
            if self._has_none(name) and self._root.open(MANIFEST).has_branch(name):
                return name
        except InvalidName:
            pass
        self._root.open(MANIFEST).check_version_store()  # another one keeps other names
        raise UnknownBranch(place=self._root.place, branch=name)

    def means_still(self, name: str, native: str | None) -> bool:
        """Tell whether a name means a native branch as before. L1 sees to those without pointer."""
        if native is None:
            return True
        pointer = self._pointers.get(name)
        if pointer is None:
            return native == name and self._has_none(name)
        return pointer.native_branch == native

    def pointers(self) -> dict[str, Pointer]:
        """Read all pointers of branches that users see, by name."""
        return {each.name: each for each in self._pointers.list() if not is_hidden(each.name)}

    def without_pointer(
        self, known: dict[str, Pointer], *, with_runs: bool = False
    ) -> dict[str, BranchInfo]:
        """Name the branches that the original program made, and perhaps those of runs."""
        taken = {each.native_branch for each in known.values()}
        found = [
            native
            for native in self._root.open(MANIFEST).branch_names()
            if native not in taken
            and native not in known
            and self._has_none(native)
            and (with_runs or not is_hidden(native))
        ]
        if not found:
            return {}  # what is not asked for is not read: Lance would read each
        natives = self._natives()
        return {native: natives[native] for native in found if native in natives}

    def children(self, native: str) -> Children:
        """Find what started from a native branch."""
        natives = self._natives()
        started = {name for name, info in natives.items() if info.parent_branch == native}
        if not started:
            return Children(branches=(), runs=())
        named = {each.native_branch: each.name for each in self._pointers.list()}
        branches = [
            named.get(each, each)
            for each in started
            if not is_hidden(each) and (each in named or not has_unique_ending(each))
        ]
        runs = [run for each in started if (run := run_of(each)) is not None]
        return Children(branches=tuple(sorted(branches)), runs=tuple(sorted(runs)))

    def needed(self, tagged: Iterable[str | None]) -> frozenset[str]:
        """Name the native branches that have a name or a tag, or on which one of these stands."""
        natives = self._natives()
        unnamed = (each for each in natives if not (has_unique_ending(each) or run_of(each)))
        named = (each.native_branch for each in self._pointers.list())
        return with_parents([*named, *unnamed, *tagged], natives)

    def _natives(self) -> dict[str, BranchInfo]:
        return self._root.open(MANIFEST).branches()

    def _has_none(self, name: str) -> bool:
        """Tell whether a branch of this name would have no pointer."""
        return not has_unique_ending(name) and name != SCHEMA_LOCK_BRANCH
