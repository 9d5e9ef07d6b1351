"""The versions that something needs: those of tables that the catalog shows, and merge bases.

Invariant: every table version that a needed catalog version shows is needed, from the oldest such
catalog version on. Catalog versions are read in order, only the new rows of each. Memory grows only
with what is needed.

Invariant: what was merged last from each branch into each is needed, because the base of the next
merge is one of these revisions, or the one at which a branch started.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import attrs

from omnigraph_l1 import Table
from omnigraph_l1.errors import DatasetNotFound, UnknownVersion
from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._maintenance.inventory import unless_removed
from omnigraph_l2._model.repository_layout import COMMITS
from omnigraph_l2._store.branch_registry import is_owned_by
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.manifest_store import Loaded, follow, load
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["Lineage", "NeededVersions", "merged_revisions"]

Lineage = tuple[str, str | None]
"""A dataset, by its path below the root, and a native branch of it; None is main."""

_NOT_FOLLOWED = 2
"""The first versions of a branch may have lost rows, which following does not see."""


@attrs.define(eq=False)
class NeededVersions:
    """What is needed of each lineage of each table."""

    versions: dict[Lineage, set[int]] = attrs.field(factory=dict)
    floors: dict[Lineage, int] = attrs.field(factory=dict)
    """The oldest version that a branch shows of its own lineage: from there on it is written."""
    paths: set[str] = attrs.field(factory=set)
    """The datasets of all tables that were ever registered."""

    def add(self, state: CatalogState) -> None:
        """Add what a state shows."""
        for entry in state.tables.values():
            lineage = (entry.table_path, entry.table_branch)
            self.versions.setdefault(lineage, set()).add(entry.table_version)

    def add_written(self, state: CatalogState) -> None:
        """Add what a state shows of a branch that writers continue from it."""
        self.add(state)
        for entry in state.tables.values():
            owned = (
                entry.table_branch is None
                if state.branch is None
                else is_owned_by(entry.table_branch, state.branch)
            )
            if owned:
                lineage = (entry.table_path, entry.table_branch)
                before = self.floors.get(lineage, entry.table_version)
                self.floors[lineage] = min(before, entry.table_version)
        self.paths.update(each.location for each in state.registrations.values())

    def follow(self, catalog: Table, versions: Sequence[int], location: str) -> None:
        """Add what some versions of a branch of the catalog show, in ascending order."""
        before: Loaded | None = None
        for number, version in enumerate(versions):
            try:
                table = catalog.at(version)
            except UnknownVersion:
                continue  # another cleanup took it
            plainly = before is None or (catalog.branch is not None and number <= _NOT_FOLLOWED)
            before = load(table, location) if before is None or plainly else follow(before, table)
            self.add_written(before.state)
            # What is followed needs no commits; over days of them memory would grow.
            state = attrs.evolve(before.state, publishes=before.state.publishes[-1:], operations={})
            before = attrs.evolve(before, state=state)

    def of(self, lineage: Lineage) -> Iterable[int]:
        """Name the versions that are needed of a lineage."""
        return self.versions.get(lineage, ())

    @property
    def natives(self) -> frozenset[str]:
        """The native branches of tables that something needs."""
        return frozenset(native for _, native in self.versions if native is not None)


_MERGED = "merged_parent_commit_id"


def merged_revisions(
    root: RepositoryRoot, heads: Mapping[str | None, Loaded]
) -> Iterator[tuple[str | None, int]]:
    """Return what was merged last, between any two branches: native branch and version."""
    log = CommitLog(root)
    for native, loaded in heads.items():
        wanted = _merged_into(root, native, loaded)
        newest: dict[str | None, int] = {}
        for commit in _look_up(root, log, heads, wanted):
            before = newest.get(commit.manifest_branch, 0)
            newest[commit.manifest_branch] = max(before, commit.manifest_version)
        yield from newest.items()


def _merged_into(root: RepositoryRoot, native: str | None, loaded: Loaded) -> set[str]:
    wanted = {made.commit.merged_parent_commit_id for made in loaded.state.publishes}
    with suppress(DatasetNotFound), unless_removed(root, COMMITS, native):
        table = root.open(COMMITS, branch=native)
        for batch in table.scan(columns=[_MERGED], filter=f"{_MERGED} IS NOT NULL"):
            wanted.update(batch.column(0).to_pylist())
    return {each for each in wanted if each is not None}


def _look_up(
    root: RepositoryRoot, log: CommitLog, heads: Mapping[str | None, Loaded], wanted: set[str]
) -> Iterable[GraphCommit]:
    """Look commits up in the catalogs of branches and in their logs."""
    left = set(wanted)
    for native, loaded in heads.items():
        if not left:
            return
        held = {
            made.commit.graph_commit_id: made.commit
            for made in loaded.state.publishes
            if made.commit.graph_commit_id in left
        }
        logged: Sequence[GraphCommit] = ()
        if left - held.keys():
            with unless_removed(root, COMMITS, native):
                logged = log.find_all(sorted(left - held.keys()), native)
        for commit in (*held.values(), *logged):
            left.discard(commit.graph_commit_id)
            yield commit
