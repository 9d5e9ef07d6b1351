"""The commits of a branch, oldest first, after some position.

Invariant: each commit that the branch had at the call is yielded once and in order; commits
published later are not. Memory does not grow with the number of commits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from heapq import heappop, heappush, merge
from itertools import islice, pairwise
from typing import Final

from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._store.commit_log import Logged, logged_since
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["Position", "commits_after", "position_of"]

_PAGE: Final = 256

Position = tuple[int, datetime]
"""Where a commit stands among those of its branch: several may share a version of the catalog."""


def position_of(commit: GraphCommit) -> Position:
    """Return the position of a commit."""
    return commit.manifest_version, commit.created_at


def commits_after(
    root: RepositoryRoot, branch: BranchSession, state: CatalogState, after: Position | None
) -> Iterator[GraphCommit]:
    """Walk the commits of a state of a branch that come after a position, oldest first."""
    held = [
        made.commit for made in state.publishes if after is None or position_of(made.commit) > after
    ]
    if after is not None and _reaches_back(state, held, after):
        yield from held
        return
    # The log may lack the newest ones, and the catalog the oldest.
    logged = _walk_log(root, branch, after)
    seen: deque[str] = deque(maxlen=2 * _PAGE)
    for commit in merge(logged, held, key=position_of):
        if commit.manifest_version <= state.version and commit.graph_commit_id not in seen:
            seen.append(commit.graph_commit_id)
            yield commit


def _reaches_back(state: CatalogState, held: Sequence[GraphCommit], after: Position) -> bool:
    """Return whether the catalog holds all commits since, so that the log need not be asked.

    What another publisher published in between is in the log only.
    """
    before = [made.commit for made in state.publishes if position_of(made.commit) <= after]
    chain = [*before[-1:], *held]
    return (
        bool(before)
        and not state.is_foreign
        and all(later.parent_commit_id == one.graph_commit_id for one, later in pairwise(chain))
    )


def _walk_log(
    root: RepositoryRoot, branch: BranchSession, after: Position | None
) -> Iterator[GraphCommit]:
    rows = _in_order(logged_since(root, branch.native, 0 if after is None else after[0]))
    wanted = (row for row in rows if after is None or _position(row) > after)
    while page := list(islice(wanted, _PAGE)):
        ids = list(dict.fromkeys(row.commit_id for row in page))
        found = {commit.graph_commit_id: commit for commit in branch.find_logged(ids)}
        yield from (found[commit_id] for commit_id in ids)


def _position(row: Logged) -> Position:
    return row.manifest_version, row.created_at


def _in_order(rows: Iterable[Logged]) -> Iterator[Logged]:
    """Sort commits that two processes appended to the log in alternation."""
    ahead: list[Logged] = []
    for row in rows:
        heappush(ahead, row)
        if len(ahead) > _PAGE:
            yield heappop(ahead)
    while ahead:
        yield heappop(ahead)
