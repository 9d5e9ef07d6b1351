"""Decide which versions a cleanup deletes, from branches, tags, runs, leases and merge bases.

Invariant: nothing is deleted that a snapshot, a branch, a tag, a run or an active writer may need;
in doubt a version stays. Readers without a lease are covered by what was visible lately, whatever
the retention is. All versions from the oldest one on which a writer may continue are
retained without a gap, because Lance compares a write with all versions since its base.

Invariant: heads are read before leases. A lease that is taken later refers to a later head, of
which nothing is removed; a lease that was taken before is read. Names and heads are then read
again, because a lease may be released after its holder has published or named what it held. If
anything cannot be read, its needs are unknown, and the cleanup stops.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

import attrs

from omnigraph_l1 import BranchInfo, Table, VersionFile
from omnigraph_l1.errors import UnknownVersion
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branch.revision_resolver import RevisionResolver
from omnigraph_l2._catalog.graph_commit import EPOCH, GraphCommit
from omnigraph_l2._commit.lease_status import LeaseStatus
from omnigraph_l2._commit.leases import MAIN_LINEAGE
from omnigraph_l2._maintenance.inventory import (
    Inventory,
    take_inventory,
    unless_removed,
    unless_untagged,
)
from omnigraph_l2._maintenance.needed_versions import NeededVersions, contained_revisions
from omnigraph_l2._maintenance.verify_report import Collector
from omnigraph_l2._model.argument_checks import invalid_argument
from omnigraph_l2._model.repository_layout import MANIFEST, OPERATION_REFS
from omnigraph_l2._store.branch_registry import has_unique_ending, is_owned_by, run_of, with_parents
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.manifest_store import Loaded, load
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import CorruptRepository

__all__ = ["CatalogLine", "CleanupPlan", "RetentionPolicy", "check_retention", "plan_cleanup"]

_HEADS_READ = declare("l2.cleanup.heads_read", "names and heads are read, and no lease yet")

MARGIN: Final = timedelta(hours=1)
"""Files younger than this may be unfinished writes; clocks may differ by this much."""
_CATALOG_KEPT: Final = timedelta(days=1)
"""Versions of the catalog and of the log stay so long whatever the retention is.

A publisher compares its write with all versions since the one that it has read. Those that were
removed in between it would not see.
"""
_ORPHANS_BEFORE: Final = timedelta(days=6)
"""Lance removes files that no version names after seven days, even if a writer still needs them."""


@attrs.frozen(kw_only=True)
class RetentionPolicy:
    """What is retained because of its age or its position."""

    now: datetime
    older_than: timedelta
    keep_versions: int | None
    visible_since: datetime
    """What was visible then or later is read without a lease; by the clock of the files."""


@attrs.frozen(kw_only=True)
class CatalogLine:
    """A native branch of the catalog that has readers or writers."""

    table: Table
    files: Sequence[VersionFile]
    is_all_needed: bool
    """Whether every version is needed: of a run at work, or a branch in the making."""

    @property
    def native(self) -> str | None:
        """The native branch; None is main."""
        return self.table.branch


@attrs.frozen(kw_only=True)
class CleanupPlan:
    """What a cleanup must retain, and which versions follow to be deleted."""

    there: Inventory
    lines: Sequence[CatalogLine]
    first: Mapping[str | None, int]
    """The oldest version that counts of each native branch of the catalog."""
    needs: NeededVersions
    needed_natives: frozenset[str]
    kept: Mapping[str | None, frozenset[int]]
    """Single versions of the catalog that tags name, or that merges start from."""
    quiet_since: datetime
    """Unnamed files older than this belong to no active writer."""
    now: datetime
    """When the plan was made."""

    def is_dead(self, native: str, info: BranchInfo) -> bool:
        """Return whether a native branch of any dataset is a leftover of a dead process."""
        return (
            (has_unique_ending(native) or run_of(native) is not None)
            and info.created_at < self.quiet_since
            and native not in self.needs.natives
            and not any(is_owned_by(native, each) for each in self.needed_natives)
        )

    def holds_tables_back(self, now: datetime) -> bool:
        """Return whether tables stay as they are: their orphans may still be needed."""
        return self.quiet_since < now - _ORPHANS_BEFORE

    def expired_table_versions(
        self,
        path: str,
        native: str | None,
        files: Sequence[VersionFile],
        natives: Iterable[BranchInfo],
    ) -> list[int]:
        """Return the versions of one lineage of a table that are deleted.

        ``natives`` are all native branches of the table.
        """
        return _expired_versions(
            files,
            floor=self.needs.floors.get((path, native)),
            before=self.quiet_since,
            keep=[list(self.needs.of((path, native))), _starts(natives, native)],
        )

    def expired_catalog_versions(self, line: CatalogLine) -> list[int]:
        """Return the versions of one branch of the catalog that are deleted."""
        first, before = self.first[line.native], self.now - _CATALOG_KEPT
        files = [each for each in line.files if each.modified < before or each.version >= first]
        return _expired_versions(
            files,
            floor=first,
            before=before,
            keep=[
                self.kept.get(line.native, frozenset()),
                _starts(self.there.natives.values(), line.native),
            ],
        )

    def expired_log_versions(
        self, native: str | None, files: Sequence[VersionFile], natives: Iterable[BranchInfo]
    ) -> list[int]:
        """Return the versions of one lineage of a dataset of the log that are deleted.

        The newest version has all rows.
        """
        before = self.now - _CATALOG_KEPT
        return _expired_versions(files, floor=None, before=before, keep=[_starts(natives, native)])


def plan_cleanup(
    root: RepositoryRoot,
    references: RevisionResolver,
    *,
    clock: Callable[[], datetime],
    running: Callable[[], frozenset[str]],
    leases: Callable[[], LeaseStatus],
    wanted: RetentionPolicy,
) -> CleanupPlan:
    """Read names, heads and leases, and return what must be retained."""
    there = _complete_survey(root, clock)
    needed = there.needed_branches()  # with all runs: each may need its branch
    live_runs = running() | _unregistered_runs(root, there)
    there = attrs.evolve(there, runs=tuple(each for each in there.runs if each.run_id in live_runs))
    named = {each.native for each in there.lineages}
    needed |= {f for f in there.natives if run_of(f) in live_runs}
    lines: list[CatalogLine] = []
    for native in [None, *there.natives]:
        young = native is not None and wanted.now - there.natives[native].created_at < MARGIN
        if native in named or native in needed or young:
            if young and native is not None:
                needed |= {native}
            whole = native not in named or young or run_of(native or "") is not None
            lines += _line(root, native, is_all_needed=whole)
    failpoint(_HEADS_READ)
    status = leases()
    there, new = _with_new_names(root, there, clock)
    needed |= with_parents(new, there.natives)
    for native in new:
        lines += _line(root, native, is_all_needed=True)
    since = min((each.since for each in status.live), default=wanted.now)
    first: dict[str | None, int] = {}
    needs = NeededVersions()
    for line in lines:
        with unless_removed(root, MANIFEST, line.native):
            oldest = _oldest_needed(line, root, status, wanted)
            now_there = line.table.version_files()  # a branch may now show what was pinned before
            versions = [each.version for each in now_there if each.version >= oldest]
            needs.follow(line.table, versions, root.location)
            first[line.native] = oldest
    lines = [line for line in lines if line.native in first]
    kept: dict[str | None, set[int]] = {}
    for tag in there.tags:
        with unless_untagged(root, tag):
            needs.add(references.at_tag(tag.name).state())
            kept.setdefault(tag.native_branch, set()).add(tag.manifest_version)
    _add_bases(root, there, lines, needs, kept)
    _add_versions_of_commits(root, lines, first, kept)
    return CleanupPlan(
        there=there,
        lines=lines,
        first=first,
        needs=needs,
        needed_natives=needed,
        kept={native: frozenset(each) for native, each in kept.items()},
        quiet_since=_before(min(wanted.now, since)),
        now=wanted.now,
    )


def _line(
    root: RepositoryRoot, native: str | None, *, is_all_needed: bool
) -> Iterator[CatalogLine]:
    with unless_removed(root, MANIFEST, native):
        table = root.open(MANIFEST, branch=native)
        files = table.version_files()
        if not files:
            raise CorruptRepository(
                location=root.location,
                item=f"{MANIFEST}, branch {native}",
                detail="it has no versions",
            )
        yield CatalogLine(table=table, files=files, is_all_needed=is_all_needed)


def _with_new_names(
    root: RepositoryRoot, there: Inventory, clock: Callable[[], datetime]
) -> tuple[Inventory, frozenset[str]]:
    """Read the names again; add new ones, and return their native branches."""
    later = _complete_survey(root, clock)
    both = attrs.evolve(
        there,
        pointers={**there.pointers, **later.pointers},
        tags=tuple(dict.fromkeys((*there.tags, *later.tags))),
        natives={**there.natives, **later.natives},
    )
    return both, frozenset(later.natives.keys() - there.natives.keys())


def _complete_survey(root: RepositoryRoot, clock: Callable[[], datetime]) -> Inventory:
    collector = Collector()
    there = take_inventory(root, clock, collector)
    if not there.is_whole:
        if collector.store_failure is not None:
            raise collector.store_failure
        detail = "some of its names cannot be read, so that what they need is unknown"
        raise CorruptRepository(location=root.location, item="_refs", detail=detail)
    return there


def _unregistered_runs(root: RepositoryRoot, there: Inventory) -> frozenset[str]:
    """Name runs that an operation names and the registry lacks: any process may finish them."""
    registered = {each.run_id for each in there.runs}
    unknown = {run for each in there.natives if (run := run_of(each)) is not None} - registered
    if not unknown:
        return frozenset()
    named = {str(ref.value.get("run_id")) for ref in root.refs(OPERATION_REFS).list()}
    return frozenset(unknown & named)


def _add_bases(
    root: RepositoryRoot,
    there: Inventory,
    lines: Sequence[CatalogLine],
    needs: NeededVersions,
    kept: dict[str | None, set[int]],
) -> None:
    """Add where branches started, and what two of them have in common."""
    by_native = {line.native: line for line in lines}
    natives = [each for each in by_native if each is not None]
    starts = {
        (there.natives[each].parent_branch, there.natives[each].parent_version) for each in natives
    }
    moments: set[tuple[str | None, int]] = {
        (each, there.natives[each].parent_version) for each in natives
    }
    # The start of a branch may be its second version: rows of later commits are taken out then.
    moments |= {(native, version + 1) for native, version in moments}
    heads: dict[str | None, Loaded] = {}
    for line in lines:
        with unless_removed(root, MANIFEST, line.native):
            heads[line.native] = load(line.table, root.location)
    for native, version in contained_revisions(root, heads, there.natives):
        # Where a branch started, its own first version shows the same.
        if (native, version) not in starts:
            # Of several commits in one write the first may be meant, with tables of the one before.
            moments |= {(native, version), (native, version - 1)}
    for native, version in moments:
        there_are = by_native.get(native)
        if there_are is not None and any(each.version == version for each in there_are.files):
            with unless_removed(root, MANIFEST, native), suppress(UnknownVersion):
                needs.add(load(there_are.table.at(version), root.location).state)
                kept.setdefault(native, set()).add(version)


def _add_versions_of_commits(
    root: RepositoryRoot,
    lines: Sequence[CatalogLine],
    first: Mapping[str | None, int],
    kept: dict[str | None, set[int]],
) -> None:
    """Add the versions in which the commits were made that the oldest versions show.

    A commit is found by its version, and what compacts the catalog makes versions without one.
    """
    for line in lines:
        with unless_removed(root, MANIFEST, line.native), suppress(UnknownVersion):
            shown = load(line.table.at(first[line.native]), root.location).state.publishes[-1:]
            versions = {made.commit.manifest_version for made in shown}
            kept.setdefault(line.native, set()).update(versions)


def _before(time: datetime) -> datetime:
    """Return a time that is earlier by the margin, whatever a lease says."""
    return max(time, EPOCH) - MARGIN


def _oldest_needed(
    line: CatalogLine, root: RepositoryRoot, status: LeaseStatus, wanted: RetentionPolicy
) -> int:
    """Return the oldest version of a branch of the catalog that must be retained."""
    files = line.files
    if line.is_all_needed:
        return files[0].version
    found = [
        _current_at(files, wanted.now - wanted.older_than),
        _current_at(files, wanted.visible_since),
    ]
    if wanted.keep_versions is not None:
        found.append(_nth_newest(line, root, wanted.keep_versions))
    for lease in status.live:
        pinned = lease.pins.get(line.native or MAIN_LINEAGE)
        found.append(
            _current_at(files, _before(lease.since))
            if pinned is None
            else _at_or_before(files, pinned)
        )
    return min(found)


def _nth_newest(line: CatalogLine, root: RepositoryRoot, count: int) -> int:
    """Return the version of the catalog that shows the commit at a location from the head."""
    for commit in islice(_commits(line, root), count - 1, count):
        if commit.manifest_branch == line.native:
            return _at_or_before(line.files, commit.manifest_version)
    return line.files[0].version


def _commits(line: CatalogLine, root: RepositoryRoot) -> Iterator[GraphCommit]:
    """Walk the commits of a branch back from the head."""
    held = [made.commit for made in reversed(load(line.table, root.location).state.publishes)]
    yield from held
    seen = {each.graph_commit_id for each in held}
    logged = CommitLog(root).newest_first(line.native)
    yield from (each for each in logged if each.graph_commit_id not in seen)


def check_retention(older_than: object, keep_versions: object) -> None:
    """Raise ``InvalidRequest`` if a retention is invalid."""
    if not isinstance(older_than, timedelta) or older_than < timedelta(0):
        raise invalid_argument(older_than, "older_than", "a timedelta >= 0")
    given = keep_versions
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise invalid_argument(given, "keep_versions", "a whole number >= 1, or None")


def _current_at(files: Sequence[VersionFile], moment: datetime) -> int:
    """Return the newest version at a time; the oldest if the time is before all."""
    current = files[0].version
    for each in files:
        if each.modified > moment:
            return current
        current = each.version
    return current


def _at_or_before(files: Sequence[VersionFile], version: int) -> int:
    """Return the newest version up to a number; the oldest if all are after it."""
    return max(
        (each.version for each in files if each.version <= version), default=files[0].version
    )


def _expired_versions(
    files: Sequence[VersionFile],
    *,
    floor: int | None,
    before: datetime,
    keep: Iterable[Collection[int]],
) -> list[int]:
    """Name the versions that can go.

    With a floor these are the versions below it. Without one no writer continues from a version
    of this lineage, and these are the versions older than a time. The newest always stays.
    """
    kept = {files[-1].version} if files else set()
    for some in keep:
        kept.update(some)
    return [
        each.version
        for each in files
        if each.version not in kept
        and (each.modified < before if floor is None else each.version < floor)
    ]


def _starts(natives: Iterable[BranchInfo], native: str | None) -> set[int]:
    """Name the versions of a lineage at which native branches started, itself among them.

    What a branch changed since it started is found by comparing with its first version.
    """
    return {each.parent_version for each in natives if native in {each.parent_branch, each.name}}
