"""Which moments a later merge or diff of two branches starts from.

Always: where a branch started is kept as long as the branch, and so is what was merged last from
each branch into each: the base of the next merge is one of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from omnigraph_l1.errors import DatasetNotFound
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._maintenance.vanishing import unless_removed
from omnigraph_l2._manifest.catalog import Loaded
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import COMMITS

__all__ = ["merged_moments"]

_MERGED = "merged_parent_commit_id"


def merged_moments(
    root: Root, heads: Mapping[str | None, Loaded]
) -> Iterator[tuple[str | None, int]]:
    """Give what was merged last, between any two branches: native branch and version."""
    log = GraphLog(root)
    for native, loaded in heads.items():
        wanted = _merged_into(root, native, loaded)
        newest: dict[str | None, int] = {}
        for commit in _found(root, log, heads, wanted):
            before = newest.get(commit.manifest_branch, 0)
            newest[commit.manifest_branch] = max(before, commit.manifest_version)
        yield from newest.items()


def _merged_into(root: Root, native: str | None, loaded: Loaded) -> set[str]:
    wanted = {made.commit.merged_parent_commit_id for made in loaded.state.publishes}
    with suppress(DatasetNotFound), unless_removed(root, COMMITS, native):
        table = root.open(COMMITS, branch=native)
        for batch in table.scan(columns=[_MERGED], filter=f"{_MERGED} IS NOT NULL"):
            wanted.update(batch.column(0).to_pylist())
    return {each for each in wanted if each is not None}


def _found(
    root: Root, log: GraphLog, heads: Mapping[str | None, Loaded], wanted: set[str]
) -> Iterable[GraphCommit]:
    """Look commits up where they may be: in the catalog of a branch, or in its log."""
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
