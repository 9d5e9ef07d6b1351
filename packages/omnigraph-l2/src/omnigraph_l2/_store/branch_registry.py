"""Graph branches: their names, the native branch that each refers to, who started from whom.

A pointer is the document ``_refs/branches/<name>.json``. It decides what a name refers to. Without
one, a native branch of the catalog with exactly that name counts, which another publisher or a run
made. A native branch of this package without its pointer does not count: its creation or its
removal was interrupted.

Invariant: a pointer is never ahead of what is published, and never moves back. A crash may leave it
behind; the next writer moves it on. The head in the catalog is the valid one.

Invariant: a native name that this package makes is never one of another publisher, because it ends
in a ULID, and never the name of an internal branch. So the owner of a native branch follows from
its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import attrs

from omnigraph_l1 import BranchInfo, JsonRefs, Ref, unique_branch_name
from omnigraph_l1.errors import InvalidName, RefChanged, RefExists, RefNotFound
from omnigraph_l2._model.repository_layout import BRANCH_REFS, MANIFEST, SCHEMA_LOCK_BRANCH
from omnigraph_l2._store.ref_documents import (
    DOCUMENT_FORMAT,
    check_number,
    check_optional,
    parse_time,
    reading_document,
)
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import InvalidBranchName, UnknownBranch

__all__ = [
    "MAIN",
    "RUN_PREFIX",
    "BranchPointers",
    "BranchRegistry",
    "Children",
    "Pointer",
    "has_unique_ending",
    "is_hidden",
    "is_owned_by",
    "native_name",
    "run_branch",
    "run_of",
    "with_parents",
]

MAIN = "main"
_KEPT = 1_024
"""Pointers that are read once only, as long as they stay as they are."""
RUN_PREFIX: Final = "__run__"
_UNIQUE_ENDING: Final = re.compile(r"\.[0-7][0-9a-hjkmnp-tv-z]{25}\Z")


def native_name(name: Any) -> str:
    """Return a new unique native name for a branch; raise if its name breaks a rule."""
    if not isinstance(name, str):
        raise InvalidBranchName(name=repr(name), rule="it is text")
    if is_hidden(name):
        raise InvalidBranchName(name=name, rule="names like that are kept for internal branches")
    if has_unique_ending(name):
        raise InvalidBranchName(name=name, rule="it does not end in a dot and a ULID")
    try:
        return unique_branch_name(name)
    except InvalidName as error:
        raise InvalidBranchName(name=name, rule=error.rule) from error


def is_hidden(name: Any) -> bool:
    """Return whether a branch is internal: of a run, or the schema lock."""
    return isinstance(name, str) and (name.startswith(RUN_PREFIX) or name == SCHEMA_LOCK_BRANCH)


def has_unique_ending(native: str) -> bool:
    """Return whether this package made a native branch: those of other publishers have no ULID."""
    return _UNIQUE_ENDING.search(native) is not None


def is_owned_by(table_branch: str | None, native: str | None) -> bool:
    """Return whether a native branch of a table belongs to a graph branch; None is main."""
    if table_branch is None or native is None:
        return table_branch == native
    if not table_branch.startswith(native):
        return False
    rest = table_branch[len(native) :]
    return not rest or _UNIQUE_ENDING.fullmatch(rest) is not None


def run_branch(run_id: str) -> str:
    """Return the name of the branch that a run works on, also its native name."""
    return f"{RUN_PREFIX}{run_id}"


def run_of(native: str) -> str | None:
    """Return the run that works on a branch; None if it is not the branch of a run."""
    return native[len(RUN_PREFIX) :] if native.startswith(RUN_PREFIX) else None


@attrs.frozen(kw_only=True)
class Pointer:
    """The native branch that a name refers to."""

    name: str
    native_branch: str | None
    """The Lance branch of the catalog; None for main."""
    parent_branch: str | None
    parent_manifest_version: int | None
    manifest_version: int
    """The head, or a version before it where a writer died."""
    head_commit_id: str | None
    created_at: datetime
    updated_at: datetime


@attrs.define(eq=False)
class BranchPointers:
    """The pointers of a repository."""

    _root: RepositoryRoot
    _clock: Callable[[], datetime]
    _seen: dict[str, tuple[Ref, Pointer]] = attrs.field(factory=dict, init=False, repr=False)
    """What this handle has created or advanced last."""
    _refs: JsonRefs = attrs.field(init=False, repr=False)

    @_refs.default
    def _open(self) -> JsonRefs:
        return self._root.refs(BRANCH_REFS)

    def get(self, name: str) -> Pointer | None:
        """Read a pointer; None where there is none of that name."""
        found = self._read(name)
        return None if found is None else found[1]

    def list(self) -> list[Pointer]:
        """Read all pointers, by name."""
        return [_parse(ref, self._root.location) for ref in self._refs.list()]

    def create(self, pointer: Pointer) -> bool:
        """Create a pointer; return False if there is one of that name."""
        try:
            ref = self._refs.create(pointer.name, _write_document(pointer))
        except RefExists:
            return False
        self._seen[pointer.name] = ref, pointer
        return True

    def delete(self, name: str, native_branch: str | None) -> bool:
        """Delete a pointer if it still names this native branch; return False otherwise."""
        while True:
            ref = self._refs.get(name)
            if ref is None or _parse(ref, self._root.location).native_branch != native_branch:
                return False
            try:
                self._refs.delete(ref)
            except RefChanged:
                continue
            except RefNotFound:
                return False
            return True

    def advance(
        self, name: str, native_branch: str | None, version: int, commit_id: str | None
    ) -> bool:
        """Move a pointer on to a head, unless it is at or past that head.

        Return False if there is none of that name for this native branch, at that moment.
        """
        seen = self._seen.get(name)
        known = seen or self._read(name)
        while known is not None:
            ref, pointer = known
            head = (pointer.manifest_version, pointer.head_commit_id)
            is_other = pointer.native_branch != native_branch
            is_past = pointer.manifest_version > version or head == (version, commit_id)
            if (is_other or is_past) and known is seen and native_branch is not None:
                known, seen = self._read(name), None  # it may have changed since
                continue
            if is_other:
                break
            if is_past:
                self._seen[name] = known
                return True
            moved = attrs.evolve(
                pointer,
                manifest_version=version,
                head_commit_id=commit_id,
                updated_at=self._clock(),
            )
            try:
                self._seen[name] = self._refs.replace(ref, _write_document(moved)), moved
            except RefChanged:
                known = self._read(name)
            except RefNotFound:
                break
            else:
                return True
        self._seen.pop(name, None)
        return False

    def _read(self, name: str) -> tuple[Ref, Pointer] | None:
        ref = self._refs.get(name)
        return None if ref is None else (ref, _parse(ref, self._root.location))

    def probe(self) -> None:
        """Raise if the store ignores conditional writes."""
        self._refs.probe()


def _write_document(pointer: Pointer) -> dict[str, Any]:
    return {
        "format": DOCUMENT_FORMAT,
        "name": pointer.name,
        "native_branch": pointer.native_branch,
        "parent_branch": pointer.parent_branch,
        "parent_manifest_version": pointer.parent_manifest_version,
        "manifest_version": pointer.manifest_version,
        "head_commit_id": pointer.head_commit_id,
        "created_at": pointer.created_at.isoformat(),
        "updated_at": pointer.updated_at.isoformat(),
    }


@lru_cache(_KEPT)
def _parse(ref: Ref, location: str) -> Pointer:
    found = ref.value
    with reading_document(found, item=f"branch {ref.name}", location=location):
        parent_version = found["parent_manifest_version"]
        return Pointer(
            name=ref.name,
            native_branch=check_optional(found["native_branch"], str),
            parent_branch=check_optional(found["parent_branch"], str),
            parent_manifest_version=None
            if parent_version is None
            else check_number(parent_version),
            manifest_version=check_number(found["manifest_version"]),
            head_commit_id=check_optional(found["head_commit_id"], str),
            created_at=parse_time(found["created_at"]),
            updated_at=parse_time(found["updated_at"]),
        )


def with_parents(needed: Iterable[str | None], natives: Mapping[str, BranchInfo]) -> frozenset[str]:
    """Add the native branches that these ones started from, without main."""
    found: set[str] = set()
    left = {each for each in needed if each is not None}
    while left:
        found |= left
        above = {natives[each].parent_branch for each in left if each in natives}
        left = {each for each in above if each is not None} - found
    return frozenset(found)


@attrs.frozen(kw_only=True)
class Children:
    """What started from a branch and still exists."""

    branches: tuple[str, ...]
    """Names of graph branches."""
    runs: tuple[str, ...]
    """Runs whose branch exists, whatever their status."""


@attrs.frozen
class BranchRegistry:
    """The branches of a repository."""

    _root: RepositoryRoot
    _pointers: BranchPointers

    def native(self, name: Any) -> str | None:
        """Return the native branch of a name (None is main), or raise ``UnknownBranch``."""
        if name == MAIN:
            return None
        if not isinstance(name, str):
            raise InvalidBranchName(name=repr(name), rule="it is text")
        try:
            pointer = self._pointers.get(name)
            if pointer is not None:
                return pointer.native_branch
            if self._has_none(name):
                catalog = self._root.open(MANIFEST)
                if catalog.has_branch(name):
                    return name
                catalog.check_version_store()  # another one keeps other names
        except InvalidName:
            pass
        raise UnknownBranch(location=self._root.location, branch=name)

    def pointers(self) -> dict[str, Pointer]:
        """Read all pointers of branches that users see, by name."""
        return {each.name: each for each in self._pointers.list() if not is_hidden(each.name)}

    def without_pointer(
        self, known: dict[str, Pointer], *, with_runs: bool = False
    ) -> dict[str, BranchInfo]:
        """Return the branches that another publisher made, and possibly those of runs."""
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

    def needed_branches(self, tagged: Iterable[str | None]) -> frozenset[str]:
        """Return the native branches with a name or a tag, and those that they started from."""
        natives = self._natives()
        unnamed = (each for each in natives if not (has_unique_ending(each) or run_of(each)))
        named = (each.native_branch for each in self._pointers.list())
        return with_parents([*named, *unnamed, *tagged], natives)

    def _natives(self) -> dict[str, BranchInfo]:
        return self._root.open(MANIFEST).branches()

    def _has_none(self, name: str) -> bool:
        """Return whether a native branch of this name counts as a branch without a pointer."""
        return not has_unique_ending(name) and name != SCHEMA_LOCK_BRANCH
