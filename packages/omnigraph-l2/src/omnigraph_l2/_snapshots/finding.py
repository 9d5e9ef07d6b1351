"""Finding the moment that a snapshot shall show: a version, a commit, a point in time, the head.

Always: what was asked for is given, or a typed error that names it; never something near it.
"""

from __future__ import annotations

from datetime import datetime

import attrs

from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.state import as_of as state_as_of
from omnigraph_l2._catalog.state import empty_state
from omnigraph_l2._manifest.catalog import Catalog, Loaded, read_rows
from omnigraph_l2._snapshots.snapshot import Snapshot
from omnigraph_l2._storage import Root
from omnigraph_l2.errors import InvalidRequest, UnknownCommit, UnknownVersion

__all__ = ["snapshot_at"]


def snapshot_at(
    root: Root,
    branch: GraphBranch,
    *,
    version: int | None,
    commit: str | None,
    as_of: datetime | None,
) -> Snapshot:
    """Give the snapshot that was asked for."""
    asked = [each for each in (version, commit, as_of) if each is not None]
    if len(asked) > 1:
        reason = "version, commit and as_of each name a moment; give one of them"
        raise InvalidRequest(what="A snapshot", reason=reason)
    if commit is not None:
        found = branch.find(commit)
        if found is None:
            raise UnknownCommit(commit_id=commit)
        return _of_commit(root, branch, found)
    if as_of is not None:
        return _of_commit(root, branch, _newest_until(branch, as_of))
    loaded = (
        branch.catalog.refresh() if version is None else _at(branch.catalog, branch.name, version)
    )
    return Snapshot(root, branch.name, loaded.state, branch.head(loaded.state))


def _at(catalog: Catalog, name: str, version: int) -> Loaded:
    if isinstance(version, bool) or not isinstance(version, int):
        reason = f"a version is a whole number, found {version!r}"
        raise InvalidRequest(what="A snapshot", reason=reason)
    try:
        return catalog.at(version)
    except NoSuchVersion as error:
        raise UnknownVersion(branch=name, version=version) from error


def _of_commit(root: Root, branch: GraphBranch, commit: GraphCommit) -> Snapshot:
    native = commit.manifest_branch
    # What a branch took over from where it started is in the versions of that one.
    catalog = branch.catalog if native == branch.native else Catalog(root, native)
    loaded = _at(catalog, branch.name, commit.manifest_version)
    state = loaded.state
    made = state.commit(commit.graph_commit_id)
    if made is not None and made.sequence < state.last_sequence:
        # Several commits in one write: leave out what the later ones made.
        start = attrs.evolve(empty_state(root.place, native), version=state.version)
        state = state_as_of(start, read_rows(loaded.table), made.sequence)
    return Snapshot(root, branch.name, state, commit)


def _newest_until(branch: GraphBranch, moment: datetime) -> GraphCommit:
    given: object = moment
    if not isinstance(given, datetime) or moment.tzinfo is None:
        reason = f"as_of is a datetime with a time zone, found {moment!r}"
        raise InvalidRequest(what="A snapshot", reason=reason)
    for commit in branch.newest_first():
        if commit.created_at <= moment:
            return commit
    raise UnknownVersion(branch=branch.name, version=f"at {moment.isoformat()}")
