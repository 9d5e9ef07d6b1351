"""The published versions of a table, which are all that a client may see of it.

Invariant: a version that no commit shows is reported as missing, even if its files exist. A writer
may have died or not published yet. Only versions of the requested lineage are listed.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from lance_namespace import TableBranchNotFoundError

from omnigraph_l2._api.repository import Repository
from omnigraph_l2._branch.snapshot import Snapshot, storage_of, table_of
from omnigraph_l2.errors import NotFound
from omnigraph_l2.interop.namespace_revisions import NamespaceRevision

__all__ = ["Lineage", "lineage_of", "published_versions"]


@attrs.frozen
class Lineage:
    """The versions of a table on one native branch, as a revision of the graph shows them."""

    revision: NamespaceRevision
    snapshot: Snapshot
    table_key: str

    @property
    def native(self) -> str | None:
        """The native branch; None is the main lineage."""
        return self.snapshot.entry(self.table_key).table_branch

    @property
    def location(self) -> str:
        """The location that a client opens; a native branch has its own folder."""
        folder = storage_of(self.snapshot, self.table_key)
        own = folder if self.native is None else folder.child(f"tree/{self.native}")
        return own.location.uri


def lineage_of(
    repo: Repository, revision: NamespaceRevision, table_key: str, native: str | None
) -> Lineage:
    """Find the requested lineage: of the revision, or by the name of a native branch."""
    lineage = Lineage(revision, revision.snapshot(repo), table_key)
    if native is None or native == lineage.native:
        return lineage
    if revision.moves:
        others = [_visible_lineage(repo, branch.name, table_key) for branch in repo.branches.list()]
        found = [each for each in others if each is not None and each.native == native]
        if found:
            return max(found, key=lambda each: each.snapshot.entry(table_key).table_version)
    msg = (
        f"No branch of the graph shows {table_key} on the native branch {native!r}. "
        'describe_table of ["branches", name, key] returns it as native_branch.'
    )
    raise TableBranchNotFoundError(msg)


def _visible_lineage(repo: Repository, branch: str, table_key: str) -> Lineage | None:
    revision = NamespaceRevision("branch", branch)
    try:
        lineage = Lineage(revision, revision.snapshot(repo), table_key)
        lineage.snapshot.entry(table_key)
    except NotFound:  # deleted in the meantime, or without that table
        return None
    return lineage


def published_versions(repo: Repository, lineage: Lineage) -> Iterator[tuple[int, str]]:
    """Return each version that was published, newest first, and the path of its manifest.

    A revision that is not a branch has one version.
    """
    newest = lineage.snapshot.entry(lineage.table_key)
    yield newest.table_version, table_of(lineage.snapshot, lineage.table_key).manifest_path
    if not lineage.revision.moves:
        return
    last = newest.table_version
    for commit in repo.log(lineage.revision.name)[1:]:
        try:
            before = repo.snapshot(lineage.revision.name, commit=commit.graph_commit_id)
            entry = before.entry(lineage.table_key)
            if entry.table_branch != newest.table_branch:
                return
            if entry.table_version < last:
                last = entry.table_version
                yield last, table_of(before, lineage.table_key).manifest_path
        except NotFound:  # cleaned up, or the table was not there yet
            return
