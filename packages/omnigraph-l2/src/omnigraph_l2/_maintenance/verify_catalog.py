"""Check the branches of the catalog: rows, schema version, and the pointers to their heads.

Invariant: nothing is written. What belongs to a branch that is deleted during the check is no
finding.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

import attrs

from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._catalog.catalog_state import CatalogState, as_of, empty_state
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._maintenance.inventory import Lineage
from omnigraph_l2._maintenance.verify_report import Collector, Severity
from omnigraph_l2._maintenance.verify_rows import sound_state
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._store.branch_registry import MAIN, BranchPointers, Pointer, is_hidden
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.manifest_store import load, read_rows
from omnigraph_l2._store.migrations import may_repeat_ids
from omnigraph_l2._store.repository_init import was_begun
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2._store.tag_records import Tag, TagRecords

__all__ = ["Shown", "check_branch", "check_tag", "newest_commit"]

_COPY = "bring __manifest back from a copy"


@attrs.frozen(kw_only=True)
class Shown:
    """What one branch or tag shows."""

    name: str
    """The name of the branch, or tag."""
    subject: str
    native: str | None
    state: CatalogState
    is_sound: bool = True
    """Whether all rows of the catalog count; else the state lacks what those say that do not."""
    stands: Callable[[], bool] = attrs.field(eq=False, repr=False)
    """Returns whether it still exists: what is deleted during the check is no finding."""


def check_branch(
    root: RepositoryRoot, clock: Callable[[], datetime], lineage: Lineage, collector: Collector
) -> Shown | None:
    """Check one branch of the catalog; return what it shows, if that can be read."""
    mine = Collector()
    stands = partial(_means_still, root, clock, lineage)
    shown = _branch_shown(root, lineage, stands, mine)
    if mine.has_errors and not stands():
        return None
    collector.take(mine)
    return shown


def _branch_shown(
    root: RepositoryRoot, lineage: Lineage, stands: Callable[[], bool], collector: Collector
) -> Shown | None:
    shown = None
    with collector.guard("catalog-unreadable", f"the catalog of {lineage.subject}", _COPY):
        table = root.open(MANIFEST, branch=lineage.native)
        state, is_sound = sound_state(
            read_rows(table),
            location=root.location,
            native=lineage.native,
            version=table.version,
            subject=lineage.subject,
            may_repeat=may_repeat_ids(table),
            collector=collector,
        )
        shown = Shown(
            name=lineage.name,
            subject=lineage.subject,
            native=lineage.native,
            state=state,
            is_sound=is_sound,
            stands=stands,
        )
        if state.closed_at and not is_hidden(lineage.native):
            detail = "its deletion was decided, and has not ended yet"
            remedy = "the next writer, cleanup or repair finishes it"
            collector.add(Severity.INFO, "branch-closed", lineage.subject, detail, remedy)
        if lineage.pointer is None:
            if lineage.name == MAIN and was_begun(table):
                detail = "_refs/branches/main.json is missing"
                collector.add(
                    Severity.WARNING, "pointer-missing", lineage.subject, detail, "repair makes it"
                )
        elif is_sound:
            _check_pointer(root, lineage.pointer, shown, collector)
    return shown


def _means_still(root: RepositoryRoot, clock: Callable[[], datetime], lineage: Lineage) -> bool:
    if lineage.native is None:
        return True
    pointer = BranchPointers(root, clock).get(lineage.name)
    if pointer is not None:
        return pointer.native_branch == lineage.native
    return lineage.pointer is None and lineage.native in root.open(MANIFEST).branches()


def newest_commit(root: RepositoryRoot, state: CatalogState) -> GraphCommit | None:
    """Return the newest commit of a state: of the catalog, or of the log if that is newer."""
    held = None if state.head is None else state.head.commit
    if held is not None and not state.is_foreign:
        return held
    logged = CommitLog(root).head(state.branch, until=state.version)
    if logged is None or (held is not None and held.manifest_version >= logged.manifest_version):
        return held
    return logged


def _check_pointer(
    root: RepositoryRoot, pointer: Pointer, shown: Shown, collector: Collector
) -> None:
    subject, state = shown.subject, shown.state
    if pointer.manifest_version > state.version:
        detail = (
            f"its pointer is at version {pointer.manifest_version}, its catalog at {state.version}"
        )
        collector.error("pointer-ahead", subject, detail, "was __manifest brought back alone?")
        return
    head = newest_commit(root, state)
    if head is None or head.graph_commit_id == pointer.head_commit_id:
        return
    if pointer.manifest_version < head.manifest_version:
        detail = (
            f"its pointer is at version {pointer.manifest_version}, its newest commit at "
            f"{head.manifest_version}"
        )
        remedy = "the next publish, or repair, moves it on"
        collector.add(Severity.INFO, "pointer-behind", subject, detail, remedy)
        return
    detail = (
        f"its pointer names commit {pointer.head_commit_id}, its newest one is "
        f"{head.graph_commit_id}"
    )
    collector.error("pointer-wrong", subject, detail, "repair puts it right")


def check_tag(root: RepositoryRoot, tag: Tag, collector: Collector) -> Shown | None:
    """Check what a tag names; return what it shows, if that can be read."""
    mine = Collector()
    stands = partial(_is_tag_still, root, tag)
    shown = _tag_shown(root, tag, stands, mine)
    if mine.has_errors and not stands():
        return None
    collector.take(mine)
    return shown


def _is_tag_still(root: RepositoryRoot, tag: Tag) -> bool:
    return TagRecords(root).get(tag.name) == tag


def _tag_shown(
    root: RepositoryRoot, tag: Tag, stands: Callable[[], bool], collector: Collector
) -> Shown | None:
    subject = f"tag {tag.name}"
    shown = None
    remedy = "bring __manifest back from a copy, or delete the tag"
    with collector.guard("tag-unreadable", subject, remedy):
        try:
            table = root.open(MANIFEST, branch=tag.native_branch, version=tag.manifest_version)
        except NoSuchVersion:
            detail = f"version {tag.manifest_version} of the catalog is not there any more"
            collector.error("tag-unreadable", subject, detail, remedy)
            return None
        state = load(table, root.location).state
        if tag.sequence is not None and tag.sequence != state.last_sequence:
            start = attrs.evolve(
                empty_state(root.location, tag.native_branch), version=state.version
            )
            state = as_of(start, read_rows(table), tag.sequence)
        held = state.commit(tag.graph_commit_id)
        if held is None and CommitLog(root).find(tag.graph_commit_id, tag.native_branch) is None:
            detail = f"there is no commit {tag.graph_commit_id} on the branch that it names"
            collector.error("tag-without-commit", subject, detail, "delete the tag")
        else:
            shown = Shown(
                name=tag.name,
                subject=subject,
                native=tag.native_branch,
                state=state,
                stands=stands,
            )
    return shown
