"""What a cleanup knows before it removes anything: branches, leases, and so what is needed.

Always: heads are read before leases. Whoever takes a lease after that reads a later head, of which
nothing is removed; whoever took it before is in it. Names and heads are read once more after that:
whoever let go meanwhile of what it held shows it there. What cannot be read stops the cleanup:
nobody knows what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice

import attrs

from omnigraph_l1 import BranchInfo, Table, VersionFile
from omnigraph_l1.errors import UnknownVersion
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branches.listing import with_parents
from omnigraph_l2._branches.names import has_unique_ending, is_owned_by, run_of
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._leases.hold import MAIN_LINEAGE
from omnigraph_l2._leases.standing import Standing
from omnigraph_l2._maintenance.bases import merged_moments
from omnigraph_l2._maintenance.needs import Needs
from omnigraph_l2._maintenance.retention import at_or_before, current_at
from omnigraph_l2._maintenance.vanishing import unless_removed, unless_untagged
from omnigraph_l2._manifest.catalog import Loaded, load
from omnigraph_l2._references.resolving import References
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST, OPERATION_REFS
from omnigraph_l2._verifying.report import Collector
from omnigraph_l2._verifying.survey import Survey, survey
from omnigraph_l2.errors import CorruptRepository

__all__ = ["MARGIN", "CatalogLine", "Plan", "Wanted", "look"]

_HEADS_READ = declare("l2.cleanup.heads_read", "names and heads are read, and no lease yet")

MARGIN = timedelta(hours=1)
"""What is younger than this may be in the making, and clocks may differ by so much."""


@attrs.frozen(kw_only=True)
class Wanted:
    """What shall stay for its age or its place."""

    now: datetime
    older_than: timedelta
    keep_versions: int | None


@attrs.frozen(kw_only=True)
class CatalogLine:
    """A native branch of the catalog that is read or written by somebody."""

    table: Table
    files: Sequence[VersionFile]
    is_all_needed: bool
    """Whether every version is needed: of a run at work, or a branch in the making."""

    @property
    def native(self) -> str | None:
        """The native branch; None is main."""
        return self.table.branch


@attrs.frozen(kw_only=True)
class Plan:
    """What is needed, and what is not known to be."""

    there: Survey
    lines: Sequence[CatalogLine]
    first: Mapping[str | None, int]
    """The oldest version that counts of each native branch of the catalog."""
    needs: Needs
    needed_natives: frozenset[str]
    kept: Mapping[str | None, frozenset[int]]
    """Single versions of the catalog that tags name, or that merges start from."""
    quiet_since: datetime
    """What was written before this, and is not named, is of nobody at work."""

    def is_dead(self, native: str, info: BranchInfo) -> bool:
        """Tell whether a native branch, of whatever dataset, is left over from the dead."""
        return (
            (has_unique_ending(native) or run_of(native) is not None)
            and info.created_at < self.quiet_since
            and native not in self.needs.natives
            and not any(is_owned_by(native, each) for each in self.needed_natives)
        )


def look(
    root: Root,
    references: References,
    *,
    clock: Callable[[], datetime],
    running: Callable[[], frozenset[str]],
    leases: Callable[[], Standing],
    wanted: Wanted,
) -> Plan:
    """Look at everything that a cleanup must know."""
    there = _whole(root, clock)
    needed = there.needed()  # with all runs: where there are none, nobody knows which branches go
    live_runs = running() | _runs_in_the_making(root, there)
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
    standing = leases()
    there, new = _with_new_names(root, there, clock)
    needed |= with_parents(new, there.natives)
    for native in new:
        lines += _line(root, native, is_all_needed=True)
    since = min((each.since for each in standing.live), default=wanted.now)
    first: dict[str | None, int] = {}
    needs = Needs()
    for line in lines:
        with unless_removed(root, MANIFEST, line.native):
            oldest = _first(line, root, standing, wanted)
            now_there = line.table.version_files()  # a branch may show by now what was held before
            versions = [each.version for each in now_there if each.version >= oldest]
            needs.follow(line.table, versions, root.place)
            first[line.native] = oldest
    lines = [line for line in lines if line.native in first]
    kept: dict[str | None, set[int]] = {}
    for tag in there.tags:
        with unless_untagged(root, tag):
            needs.add(references.at_tag(tag.name).state())
            kept.setdefault(tag.native_branch, set()).add(tag.manifest_version)
    _add_bases(root, there, lines, needs, kept)
    _add_shown(root, lines, first, kept)
    return Plan(
        there=there,
        lines=lines,
        first=first,
        needs=needs,
        needed_natives=needed,
        kept={native: frozenset(each) for native, each in kept.items()},
        quiet_since=min(wanted.now, since) - MARGIN,
    )


def _line(root: Root, native: str | None, *, is_all_needed: bool) -> Iterator[CatalogLine]:
    with unless_removed(root, MANIFEST, native):
        table = root.open(MANIFEST, branch=native)
        files = table.version_files()
        if not files:
            raise CorruptRepository(
                place=root.place, item=f"{MANIFEST}, branch {native}", detail="it has no versions"
            )
        yield CatalogLine(table=table, files=files, is_all_needed=is_all_needed)


def _with_new_names(
    root: Root, there: Survey, clock: Callable[[], datetime]
) -> tuple[Survey, frozenset[str]]:
    """Look at the names again: add those that have come, and tell which native branches have."""
    later = _whole(root, clock)
    both = attrs.evolve(
        there,
        pointers={**there.pointers, **later.pointers},
        tags=tuple(dict.fromkeys((*there.tags, *later.tags))),
        natives={**there.natives, **later.natives},
    )
    return both, frozenset(later.natives.keys() - there.natives.keys())


def _whole(root: Root, clock: Callable[[], datetime]) -> Survey:
    collector = Collector()
    there = survey(root, clock, collector)
    if not there.is_whole:
        detail = "some of its names cannot be read, so that nobody knows what they need"
        raise CorruptRepository(place=root.place, item="_refs", detail=detail)
    return there


def _runs_in_the_making(root: Root, there: Survey) -> frozenset[str]:
    """Name runs that an operation names and the registry does not have: anybody may finish them."""
    registered = {each.run_id for each in there.runs}
    unknown = {run for each in there.natives if (run := run_of(each)) is not None} - registered
    if not unknown:
        return frozenset()
    named = {ref.value.get("run_id") for ref in root.refs(OPERATION_REFS).list()}
    return frozenset(unknown & named)


def _add_bases(
    root: Root,
    there: Survey,
    lines: Sequence[CatalogLine],
    needs: Needs,
    kept: dict[str | None, set[int]],
) -> None:
    """Take in where branches started, and what was merged last."""
    by_native = {line.native: line for line in lines}
    moments: set[tuple[str | None, int]] = {
        (native, there.natives[native].parent_version) for native in by_native if native is not None
    }
    # The start of a branch may be its second version: rows of later commits are taken out then.
    moments |= {(native, version + 1) for native, version in moments}
    heads: dict[str | None, Loaded] = {}
    for line in lines:
        with unless_removed(root, MANIFEST, line.native):
            heads[line.native] = load(line.table, root.place)
    for native, version in merged_moments(root, heads):
        # Of several commits in one write the first may be meant, with tables of the one before.
        moments |= {(native, version), (native, version - 1)}
    for native, version in moments:
        there_are = by_native.get(native)
        if there_are is not None and any(each.version == version for each in there_are.files):
            with unless_removed(root, MANIFEST, native), suppress(UnknownVersion):
                needs.add(load(there_are.table.at(version), root.place).state)
                kept.setdefault(native, set()).add(version)


def _add_shown(
    root: Root,
    lines: Sequence[CatalogLine],
    first: Mapping[str | None, int],
    kept: dict[str | None, set[int]],
) -> None:
    """Take in the versions in which the commits were made that the oldest ones show.

    A commit is found by its version, and what compacts the catalog makes versions without one.
    """
    for line in lines:
        with unless_removed(root, MANIFEST, line.native), suppress(UnknownVersion):
            shown = load(line.table.at(first[line.native]), root.place).state.publishes[-1:]
            versions = {made.commit.manifest_version for made in shown}
            kept.setdefault(line.native, set()).update(versions)


def _first(line: CatalogLine, root: Root, standing: Standing, wanted: Wanted) -> int:
    """Tell the oldest version of a branch of the catalog that counts."""
    files = line.files
    if line.is_all_needed:
        return files[0].version
    found = [current_at(files, wanted.now - wanted.older_than)]
    if wanted.keep_versions is not None:
        found.append(_nth_newest(line, root, wanted.keep_versions))
    for lease in standing.live:
        pinned = lease.pins.get(line.native or MAIN_LINEAGE)
        found.append(
            current_at(files, lease.since - MARGIN)
            if pinned is None
            else at_or_before(files, pinned)
        )
    return min(found)


def _nth_newest(line: CatalogLine, root: Root, count: int) -> int:
    """Tell the version of the catalog that shows the commit at a place from the head."""
    for commit in islice(_commits(line, root), count - 1, count):
        if commit.manifest_branch == line.native:
            return at_or_before(line.files, commit.manifest_version)
    return line.files[0].version


def _commits(line: CatalogLine, root: Root) -> Iterator[GraphCommit]:
    """Walk the commits of a branch back from the head."""
    held = [made.commit for made in reversed(load(line.table, root.place).state.publishes)]
    yield from held
    seen = {each.graph_commit_id for each in held}
    logged = GraphLog(root).newest_first(line.native)
    yield from (each for each in logged if each.graph_commit_id not in seen)
