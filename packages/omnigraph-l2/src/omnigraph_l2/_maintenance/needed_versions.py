"""The versions that something needs: those of tables that the catalog shows, and merge bases.

Invariant: every table version that a needed catalog version shows is needed, from the oldest such
catalog version on. Catalog versions are read in order, only the new rows of each. Memory grows only
with what is needed.

Invariant: the base of a merge of two live branches is needed. The history of a branch holds each
lineage up to some revision: its own, those that it started from, and those that were merged into
it. Two branches share a lineage up to the older of their two revisions, and that is where their
base may be. So the newest revision of each lineage in the history of each branch is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

import attrs

from omnigraph_l1 import BranchInfo, Table
from omnigraph_l1.errors import DatasetNotFound, UnknownVersion
from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._maintenance.inventory import unless_removed
from omnigraph_l2._model.repository_layout import COMMITS
from omnigraph_l2._store.archived_commits import ArchivedCommits
from omnigraph_l2._store.branch_registry import is_owned_by
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.manifest_store import Loaded, follow, load
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["Lineage", "NeededVersions", "Revision", "contained_revisions"]

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


def contained_revisions(
    root: RepositoryRoot,
    heads: Mapping[str | None, Loaded],
    starts: Mapping[str, BranchInfo],
) -> Iterator[Revision]:
    """Return, for each live branch, the newest revision of each lineage that its head contains."""
    merges = _Merges(root, heads, starts)
    for native, loaded in heads.items():
        contained: dict[str | None, int] = {}
        left = [(native, loaded.state.version)]
        while left:
            lineage, version = left.pop()
            if contained.get(lineage, 0) < version:
                contained[lineage] = version
                left += merges.taken_over(lineage, version)
        del contained[native]  # the head itself is needed anyhow
        yield from contained.items()


Revision: TypeAlias = tuple[str | None, int]
"""A native branch of the catalog, and a version of it."""

_MERGED: Final = "merged_parent_commit_id"
_COLUMNS: Final = (_MERGED, "manifest_branch", "manifest_version")


@attrs.frozen
class _Merges:
    """What each lineage took over: from where it started, and by merges."""

    _root: RepositoryRoot
    _heads: Mapping[str | None, Loaded]
    _starts: Mapping[str, BranchInfo]
    _known: dict[str | None, list[tuple[int, Revision]]] = attrs.field(init=False)
    """By lineage: the version that took over, and the revision that was taken over."""

    @_known.default
    def _read(self) -> dict[str | None, list[tuple[int, Revision]]]:
        found: dict[Revision, str] = {}
        for native, loaded in self._heads.items():
            found |= dict(_merged_into(self._root, native, loaded))
        known: dict[str | None, list[tuple[int, Revision]]] = {each: [] for each in self._heads}
        merged = self._resolve(set(found.values()))
        for (native, version), commit_id in found.items():
            if commit_id in merged:
                known.setdefault(native, []).append((version, merged[commit_id]))
        for native, info in self._starts.items():
            known.setdefault(native, []).append((0, (info.parent_branch, info.parent_version)))
        return known

    def taken_over(self, lineage: str | None, version: int) -> list[Revision]:
        """Return the revisions that a lineage took over up to a version."""
        if lineage not in self._known:
            self._known[lineage] = self._of_deleted(str(lineage))
        return [revision for at, revision in self._known[lineage] if at <= version]

    def _of_deleted(self, native: str) -> list[tuple[int, Revision]]:
        found: dict[int, str] = {}
        first: GraphCommit | None = None
        for commit in ArchivedCommits(self._root).made_on(native):
            first = commit
            if commit.merged_parent_commit_id is not None:
                found[commit.manifest_version] = commit.merged_parent_commit_id
        if first is not None and first.parent_commit_id is not None:
            found[0] = first.parent_commit_id
        merged = self._resolve(set(found.values()))
        return [(at, merged[each]) for at, each in found.items() if each in merged]

    def _resolve(self, commit_ids: set[str]) -> dict[str, Revision]:
        """Look commits up in the catalogs of branches, in their logs, and among the archived."""
        left, found = set(commit_ids), dict[str, Revision]()
        log = CommitLog(self._root)
        for native, loaded in self._heads.items():
            if not left:
                break
            commits = [
                made.commit
                for made in loaded.state.publishes
                if made.commit.graph_commit_id in left
            ]
            left -= {each.graph_commit_id for each in commits}
            if left:
                with unless_removed(self._root, COMMITS, native):
                    commits += log.find_all(sorted(left), native)
            found |= {each.graph_commit_id: _revision(each) for each in commits}
            left -= found.keys()
        archived = ArchivedCommits(self._root)
        for commit_id in left:
            commit = archived.find(commit_id)
            if commit is not None:
                found[commit_id] = _revision(commit)
        return found


def _revision(commit: GraphCommit) -> Revision:
    return commit.manifest_branch, commit.manifest_version


def _merged_into(
    root: RepositoryRoot, native: str | None, loaded: Loaded
) -> Iterator[tuple[Revision, str]]:
    """Return the merges that the log of a branch has, inherited ones too, and what was merged."""
    for made in loaded.state.publishes:
        if made.commit.merged_parent_commit_id is not None:
            yield _revision(made.commit), made.commit.merged_parent_commit_id
    with suppress(DatasetNotFound), unless_removed(root, COMMITS, native):
        table = root.open(COMMITS, branch=native)
        for batch in table.scan(columns=_COLUMNS, filter=f"{_MERGED} IS NOT NULL"):
            columns = (column.to_pylist() for column in batch.columns)
            for merged, branch, version in zip(*columns, strict=True):
                yield (branch, version), merged
