"""Which versions of a table were published: all that a client may see of it.

Always: a version that no commit shows is told as not there, whatever lies in the table's folder:
rows of a writer that died, or has not published yet. What is told is of the lineage that was asked
for, never of another branch's.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from lance_namespace import TableBranchNotFoundError

from omnigraph_l2._namespace.moments import Moment
from omnigraph_l2._repository import Repository
from omnigraph_l2._snapshots import Snapshot, place_of, table_of
from omnigraph_l2.errors import NotFound

__all__ = ["Lineage", "lineage_of", "published_versions"]


@attrs.frozen
class Lineage:
    """The versions of a table that one native branch holds, as a moment of the graph shows them."""

    moment: Moment
    snapshot: Snapshot
    table_key: str

    @property
    def native(self) -> str | None:
        """The native branch; None is the main lineage."""
        return self.snapshot.entry(self.table_key).table_branch

    @property
    def location(self) -> str:
        """Where a client opens it; a native branch lies in a folder of its own."""
        folder = place_of(self.snapshot, self.table_key)
        own = folder if self.native is None else folder.child(f"tree/{self.native}")
        return own.place.uri


def lineage_of(repo: Repository, moment: Moment, table_key: str, native: str | None) -> Lineage:
    """Find the lineage that a client asks for: of the moment, or by the name of a native branch."""
    lineage = Lineage(moment, moment.snapshot(repo), table_key)
    if native is None or native == lineage.native:
        return lineage
    if moment.moves:
        others = [_seen(repo, branch.name, table_key) for branch in repo.branches.list()]
        found = [each for each in others if each is not None and each.native == native]
        if found:
            return max(found, key=lambda each: each.snapshot.entry(table_key).table_version)
    msg = (
        f"No branch of the graph shows {table_key} on the native branch {native!r}. "
        'describe_table of ["branches", name, key] tells it, as native_branch.'
    )
    raise TableBranchNotFoundError(msg)


def _seen(repo: Repository, branch: str, table_key: str) -> Lineage | None:
    moment = Moment("branch", branch)
    try:
        lineage = Lineage(moment, moment.snapshot(repo), table_key)
        lineage.snapshot.entry(table_key)
    except NotFound:  # deleted meanwhile, or without that table
        return None
    return lineage


def published_versions(repo: Repository, lineage: Lineage) -> Iterator[tuple[int, str]]:
    """Give each version that was published, newest first, and the path of its manifest.

    A moment that stands still has one.
    """
    newest = lineage.snapshot.entry(lineage.table_key)
    yield newest.table_version, table_of(lineage.snapshot, lineage.table_key).manifest_path
    if not lineage.moment.moves:
        return
    last = newest.table_version
    for commit in repo.log(lineage.moment.name)[1:]:
        try:
            before = repo.snapshot(lineage.moment.name, commit=commit.graph_commit_id)
            entry = before.entry(lineage.table_key)
            if entry.table_branch != newest.table_branch:
                return
            if entry.table_version < last:
                last = entry.table_version
                yield last, table_of(before, lineage.table_key).manifest_path
        except NotFound:  # cleaned up, or the table was not there yet
            return
