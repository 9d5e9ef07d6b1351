"""What there is, as far as it can be read: names, native branches, runs.

Always: nothing is written. Names are read before what they name, so that whatever was published
meanwhile is never behind its name. What cannot be read is a finding, and the rest goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import attrs

from omnigraph_l1 import BranchInfo
from omnigraph_l1.errors import DatasetNotFound
from omnigraph_l2._branches.listing import with_parents
from omnigraph_l2._branches.names import has_unique_ending, is_hidden, run_of
from omnigraph_l2._branches.pointers import MAIN, Pointer, Pointers
from omnigraph_l2._references.tag_refs import Tag, TagRefs
from omnigraph_l2._runs.operations import Operations
from omnigraph_l2._runs.records import RunRecord, RunStatus, newest
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import (
    BRANCH_REFS,
    MANIFEST,
    OPERATION_REFS,
    RUN_ACTORS,
    RUNS,
    SCHEMA_LOCK_BRANCH,
    TAG_REFS,
)
from omnigraph_l2._verifying.report import Collector, Severity

__all__ = ["OLD_ENOUGH", "Lineage", "Survey", "survey"]

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
    """A native branch of the catalog that somebody reads."""

    name: str
    """The branch, as users name it; that of a run by its native name."""
    native: str | None
    pointer: Pointer | None

    @property
    def subject(self) -> str:
        """What to call it in a finding."""
        return f"branch {self.name}"


@attrs.frozen(kw_only=True)
class Survey:
    """What there is."""

    pointers: Mapping[str, Pointer]
    tags: tuple[Tag, ...]
    natives: Mapping[str, BranchInfo]
    """The native branches of the catalog."""
    runs: tuple[RunRecord, ...]
    is_whole: bool
    """Whether all names could be read, so that what nobody names is known."""

    @property
    def lineages(self) -> list[Lineage]:
        """The native branches that somebody reads by a name, main first."""
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

    def needed(self) -> frozenset[str]:
        """Name the native branches that are needed: by a name, or by others that stand on them."""
        needed = {each.native for each in self.lineages} | {SCHEMA_LOCK_BRANCH}
        needed |= {each.native_branch for each in self.tags}
        needed |= {each.native_branch for each in self.pointers.values()}
        needed |= {each.run_branch for each in self.runs if each.status is RunStatus.RUNNING}
        if not self.runs:
            # A registry that is lost says nothing of what runs may still need.
            needed |= {each for each in self.natives if run_of(each)}
        needed |= {each for each in self.natives if not (has_unique_ending(each) or run_of(each))}
        return with_parents(needed, self.natives)


def survey(root: Root, clock: Callable[[], datetime], collector: Collector) -> Survey:
    """Look what there is."""
    pointers, pointers_read = _each(root, _BRANCHES, Pointers(root, clock).get, collector)
    tags, tags_read = _each(root, _TAGS, TagRefs(root).get, collector)
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
        # Where they cannot be listed, that is told already, and nobody knows who is missing.
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
                "the original program made a branch of this name too, and the pointer hides it",
                "delete our branch to see the other one, or delete the other one there",
            )
    return Survey(
        pointers=pointers,
        tags=tuple(tags.values()),
        natives=found,
        runs=runs,
        is_whole=pointers_read and tags_read and runs_read and not listed.has_errors,
    )


def _is_missing(root: Root, clock: Callable[[], datetime], pointer: Pointer) -> bool:
    """Look again: it may have been deleted meanwhile, name first."""
    now = Pointers(root, clock).get(pointer.name)
    return (
        now is not None
        and now.native_branch == pointer.native_branch
        and pointer.native_branch not in root.open(MANIFEST).branches()
    )


def _each(
    root: Root, source: _Documents, get: Callable[[str], Any], collector: Collector
) -> tuple[dict[str, Any], bool]:
    """Read each document of a directory, and tell whether all could be read."""
    found: dict[str, Any] = {}
    mine = Collector()
    for name in root.refs(source.directory).names():
        with mine.guard(source.kind, f"{source.what} {name}", _REWRITE):
            document = get(name)
            if document is not None:
                found[name] = document
    collector.take(mine)
    return found, not mine.has_errors


def _runs(root: Root, collector: Collector) -> tuple[tuple[RunRecord, ...], bool]:
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
            found += newest(its, actors[run_id], root.place)
    collector.count("runs", len(rows))
    collector.take(unread)
    return tuple(found), not unread.has_errors
