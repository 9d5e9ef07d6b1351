"""The inventory of a repository: names, native branches and runs, as far as they can be read.

Invariant: nothing is written. Names are read before what they name, so that data published in
between is never older than its name. An unreadable item is a finding; the rest is read.

Others may delete a branch or a tag while its data is read. Invariant: an error is ignored only if
the branch or tag is really gone now. A deletion removes the name first and then the native branch,
so that a removed native branch is not needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import attrs

from omnigraph_l1 import BranchInfo
from omnigraph_l1.errors import DatasetNotFound
from omnigraph_l2._maintenance.verify_report import Collector, Severity
from omnigraph_l2._model.repository_layout import (
    BRANCH_REFS,
    MANIFEST,
    OPERATION_REFS,
    RUN_ACTORS,
    RUNS,
    SCHEMA_LOCK_BRANCH,
    TAG_REFS,
)
from omnigraph_l2._store.branch_registry import (
    MAIN,
    BranchPointers,
    Pointer,
    has_unique_ending,
    is_hidden,
    run_of,
    with_parents,
)
from omnigraph_l2._store.operation_records import Operations
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2._store.run_registry import RunRecord, RunStatus, newest
from omnigraph_l2._store.tag_records import Tag, TagRecords
from omnigraph_l2.errors import OmniGraphError

__all__ = [
    "OLD_ENOUGH",
    "Inventory",
    "Lineage",
    "take_inventory",
    "unless_removed",
    "unless_untagged",
]

OLD_ENOUGH = timedelta(hours=1)
"""A native branch without a name that is older than this is not about to get one."""

_REWRITE = "bring the file back from a copy, or delete it"
_CONTENT = "bring the files back from a copy"


@attrs.frozen
class _Documents:
    """Small documents of one sort."""

    directory: str
    kind: str
    what: str


_BRANCHES = _Documents(BRANCH_REFS, "pointer-unreadable", "branch")
_TAGS = _Documents(TAG_REFS, "tag-unreadable", "tag")
_OPERATIONS = _Documents(OPERATION_REFS, "operation-unreadable", "operation")


@attrs.frozen(kw_only=True)
class Lineage:
    """A native branch of the catalog that a name refers to."""

    name: str
    """The branch, as users name it; that of a run by its native name."""
    native: str | None
    pointer: Pointer | None

    @property
    def subject(self) -> str:
        """What to call it in a finding."""
        return f"branch {self.name}"


@attrs.frozen(kw_only=True)
class Inventory:
    """What there is."""

    pointers: Mapping[str, Pointer]
    tags: tuple[Tag, ...]
    natives: Mapping[str, BranchInfo]
    """The native branches of the catalog."""
    runs: tuple[RunRecord, ...]
    is_whole: bool
    """Whether all names could be read, so that what has no name is known."""

    @property
    def lineages(self) -> list[Lineage]:
        """The native branches that a name refers to, main first."""
        found = [Lineage(name=MAIN, native=None, pointer=self.pointers.get(MAIN))]
        found += [
            Lineage(name=name, native=pointer.native_branch, pointer=pointer)
            for name, pointer in self.pointers.items()
            if name != MAIN and pointer.native_branch in self.natives
        ]
        taken = {each.native for each in found}
        live = {each.run_branch for each in self.runs if each.status is RunStatus.RUNNING}
        found += [
            Lineage(name=native, native=native, pointer=None)
            for native in self.natives
            if native not in taken
            and native not in self.pointers
            and (native in live if is_hidden(native) else not has_unique_ending(native))
        ]
        return found

    def needed_branches(self) -> frozenset[str]:
        """Name the native branches that are needed: by a name, or by branches made from them."""
        needed = {each.native for each in self.lineages} | {SCHEMA_LOCK_BRANCH}
        needed |= {each.native_branch for each in self.tags}
        needed |= {each.native_branch for each in self.pointers.values()}
        needed |= {each.run_branch for each in self.runs if each.status is RunStatus.RUNNING}
        if not self.runs:
            # A registry that is lost says nothing of what runs may still need.
            needed |= {each for each in self.natives if run_of(each)}
        needed |= {each for each in self.natives if not (has_unique_ending(each) or run_of(each))}
        return with_parents(needed, self.natives)


def take_inventory(
    root: RepositoryRoot, clock: Callable[[], datetime], collector: Collector
) -> Inventory:
    """Return the inventory."""
    pointers, pointers_read = _each(root, _BRANCHES, BranchPointers(root, clock).get, collector)
    tags, tags_read = _each(root, _TAGS, TagRecords(root).get, collector)
    _each(root, _OPERATIONS, Operations(root).get, collector)
    found: Mapping[str, BranchInfo] = {}
    listed = Collector()
    with listed.guard("catalog-unreadable", "the branches of the catalog", _CONTENT):
        found = root.open(MANIFEST).branches()
    collector.take(listed)
    collector.count("branches", len(pointers) or 1)
    collector.count("tags", len(tags))
    runs, runs_read = _runs(root, collector)
    for name, pointer in pointers.items():
        native = pointer.native_branch
        # If they cannot be listed, that is reported already, and missing ones are unknown.
        is_looked_for = native is not None and native not in found and not listed.has_errors
        if is_looked_for and _is_missing(root, clock, pointer):
            collector.error(
                "branch-missing",
                f"branch {name}",
                f"its pointer names the native branch {native}, which the catalog does not have",
                "bring __manifest back from a copy, or delete the pointer",
            )
        if native != name and name in found and name != MAIN:
            collector.add(
                Severity.WARNING,
                "branch-hidden",
                f"branch {name}",
                "another publisher made a branch of this name too, and the pointer hides it",
                "delete our branch to see the other one, or delete the other one there",
            )
    return Inventory(
        pointers=pointers,
        tags=tuple(tags.values()),
        natives=found,
        runs=runs,
        is_whole=pointers_read and tags_read and runs_read and not listed.has_errors,
    )


def _is_missing(root: RepositoryRoot, clock: Callable[[], datetime], pointer: Pointer) -> bool:
    """Check again: it may have been deleted since, name first."""
    now = BranchPointers(root, clock).get(pointer.name)
    return (
        now is not None
        and now.native_branch == pointer.native_branch
        and pointer.native_branch not in root.open(MANIFEST).branches()
    )


def _each(
    root: RepositoryRoot, source: _Documents, get: Callable[[str], Any], collector: Collector
) -> tuple[dict[str, Any], bool]:
    """Read each document of a directory; return them and whether all could be read."""
    found: dict[str, Any] = {}
    mine = Collector()
    for name in root.refs(source.directory).names():
        with mine.guard(source.kind, f"{source.what} {name}", _REWRITE):
            document = get(name)
            if document is not None:
                found[name] = document
    collector.take(mine)
    return found, not mine.has_errors


def _runs(root: RepositoryRoot, collector: Collector) -> tuple[tuple[RunRecord, ...], bool]:
    """Read the registry, run by run."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    actors: dict[str, list[dict[str, Any]]] = defaultdict(list)
    unread = Collector()
    for path, held in ((RUNS, rows), (RUN_ACTORS, actors)):
        with unread.guard("run-registry-unreadable", path, _CONTENT):
            try:
                table = root.open(path)
            except DatasetNotFound:
                continue
            for row in table.read().to_pylist():
                held[row["run_id"]].append(row)
    found: list[RunRecord] = []
    for run_id, its in rows.items():
        with unread.guard("run-unreadable", f"run {run_id}", _CONTENT):
            found += newest(its, actors[run_id], root.location)
    collector.count("runs", len(rows))
    collector.take(unread)
    return tuple(found), not unread.has_errors


@contextmanager
def unless_removed(root: RepositoryRoot, path: str, native: str | None) -> Iterator[None]:
    """Do something with a native branch of a dataset, or skip it if it is removed concurrently."""
    try:
        yield
    except OmniGraphError:
        if native is None or root.open(path).has_branch(native):
            raise
        root.forget(path, native)


@contextmanager
def unless_untagged(root: RepositoryRoot, tag: Tag) -> Iterator[None]:
    """Do something with what a tag names, or skip it if the tag is deleted concurrently."""
    try:
        yield
    except OmniGraphError:
        if TagRecords(root).get(tag.name) == tag:
            raise
