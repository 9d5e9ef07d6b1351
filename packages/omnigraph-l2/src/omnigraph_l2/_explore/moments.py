"""Finding the moment that is looked at: ``branch:main``, ``tag:v1`` or ``commit:<id>``.

Always: what was asked for is given, or a typed error that names it. Nobody keeps a snapshot from
one question to the next: what is looked at keeps nothing from being cleaned up.
"""

from __future__ import annotations

from omnigraph_l2 import GraphCommit, Repository, Snapshot
from omnigraph_l2._explore.told import name_of_native
from omnigraph_l2.errors import (
    InvalidRequest,
    SnapshotExpired,
    UnknownCommit,
    UnknownReference,
)

__all__ = ["before_and_after", "snapshot_at"]


def snapshot_at(repo: Repository, moment: str) -> Snapshot:
    """Give the graph at a moment."""
    kind, _, name = moment.partition(":")
    if name and kind == "branch":
        return repo.snapshot(name)
    if name and kind == "tag":
        return repo.snapshot(tag=name)
    if name and kind == "commit":
        return _of_commit(repo, name)
    reason = f"a moment is branch:<name>, tag:<name> or commit:<id>, found {moment[:80]!r}"
    raise InvalidRequest(what="Looking at this moment", reason=reason)


def before_and_after(repo: Repository, commit: GraphCommit) -> tuple[Snapshot | None, Snapshot]:
    """Give the graph before a commit (None: there was none) and as the commit left it."""
    after = _of_commit(repo, commit.graph_commit_id)
    parent = commit.parent_commit_id
    return None if parent is None else _of_commit(repo, parent), after


def _of_commit(repo: Repository, commit_id: str) -> Snapshot:
    """Find a commit on whatever branch it is, there or deleted: a diff takes any of them."""
    try:
        found = repo.diff(None, commit_id).after
    except UnknownReference as error:
        commit = repo.commit(commit_id)  # it is known: then its branch is deleted, with its data
        branch = name_of_native(commit.manifest_branch)
        raise SnapshotExpired(branch=branch, version=commit.manifest_version) from error
    if found.commit is None or found.commit.graph_commit_id != commit_id:
        raise UnknownCommit(commit_id=commit_id)
    return found
