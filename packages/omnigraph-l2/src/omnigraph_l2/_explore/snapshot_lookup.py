"""Finds the snapshot of a revision: ``branch:main``, ``tag:v1`` or ``commit:<id>``.

Invariant: an unknown revision raises a typed error that names it. No snapshot is kept between
requests, so an open page does not keep data from cleanup.
"""

from __future__ import annotations

from omnigraph_l2 import GraphCommit, Repository, Snapshot
from omnigraph_l2._explore.serialize import branch_name
from omnigraph_l2.errors import (
    InvalidRequest,
    SnapshotExpired,
    UnknownCommit,
    UnknownReference,
)

__all__ = ["open_both_sides", "open_snapshot"]


def open_snapshot(repo: Repository, revision: str) -> Snapshot:
    """Return the snapshot of a revision."""
    kind, _, name = revision.partition(":")
    if name and kind == "branch":
        return repo.snapshot(name)
    if name and kind == "tag":
        return repo.snapshot(tag=name)
    if name and kind == "commit":
        return _of_commit(repo, name)
    reason = "expected branch:<name>, tag:<name> or commit:<id>"
    raise InvalidRequest(what=f"revision {revision[:80]!r}", reason=reason)


def open_both_sides(repo: Repository, commit: GraphCommit) -> tuple[Snapshot | None, Snapshot]:
    """Return the snapshots before a commit (None before the first one) and after it."""
    after = _of_commit(repo, commit.graph_commit_id)
    parent = commit.parent_commit_id
    return None if parent is None else _of_commit(repo, parent), after


def _of_commit(repo: Repository, commit_id: str) -> Snapshot:
    """Return the snapshot of a commit of any branch: a diff accepts all of them."""
    try:
        found = repo.diff(None, commit_id).after
    except UnknownReference as error:
        commit = repo.commit(commit_id)  # raises if unknown; else its branch is deleted
        branch = branch_name(commit.manifest_branch)
        raise SnapshotExpired(branch=branch, version=commit.manifest_version) from error
    if found.commit is None or found.commit.graph_commit_id != commit_id:
        raise UnknownCommit(commit_id=commit_id)
    return found
