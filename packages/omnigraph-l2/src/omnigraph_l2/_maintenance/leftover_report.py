"""Leftovers of dead processes: unnamed native branches, and versions damaged by a power cut.

Invariant: nothing is written. A native branch that a name, a tag, a run or another branch may need
is not reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import attrs

from omnigraph_l1 import BranchInfo
from omnigraph_l1.errors import L1Error
from omnigraph_l2._maintenance.inventory import OLD_ENOUGH, Inventory
from omnigraph_l2._maintenance.verify_catalog import Shown
from omnigraph_l2._model.repository_layout import (
    COMMIT_ACTORS,
    COMMIT_NOTES,
    COMMITS,
    COMMITS_KEPT,
    MANIFEST,
    RUN_ACTORS,
    RUNS,
)
from omnigraph_l2._store.branch_registry import has_unique_ending, is_owned_by, run_of
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = [
    "Leftover",
    "TornVersion",
    "datasets_of",
    "find_leftovers",
    "find_torn_heads",
]


@attrs.frozen(kw_only=True)
class Leftover:
    """A native branch of a dataset that nothing names."""

    path: str
    native: str
    is_old: bool
    """Whether it is too old to be in the making."""

    @property
    def subject(self) -> str:
        """What to call it in a finding."""
        return f"native branch {self.native} of {self.path}"


def find_leftovers(
    root: RepositoryRoot, there: Inventory, shown: Iterable[Shown], now: datetime
) -> list[Leftover]:
    """Name the native branches that nothing names, of the catalog, the log and the tables."""
    if not there.is_whole:
        return []
    listed = list(shown)
    pinned = {
        entry.table_branch
        for each in listed
        for entry in each.state.tables.values()
        if entry.table_branch is not None
    }
    paths = [COMMITS, *datasets_of(listed)]
    needed = there.needed_branches() | pinned
    return [
        Leftover(path=path, native=native, is_old=now - info.created_at > OLD_ENOUGH)
        for path, natives in _list_branches(root, there, paths)
        for native, info in natives.items()
        if (has_unique_ending(native) or run_of(native) is not None)
        and not any(is_owned_by(native, each) for each in needed)
    ]


def _list_branches(
    root: RepositoryRoot, there: Inventory, paths: Iterable[str]
) -> Iterator[tuple[str, dict[str, BranchInfo]]]:
    yield MANIFEST, dict(there.natives)
    for path in paths:
        try:
            yield path, root.open(path).branches()
        except L1Error:
            continue  # that it cannot be read is found elsewhere


def datasets_of(shown: Iterable[Shown]) -> list[str]:
    """Name the datasets of all tables that were ever registered."""
    return sorted({one.location for each in shown for one in each.state.registrations.values()})


@attrs.frozen(kw_only=True)
class TornVersion:
    """The newest version of a lineage, which a power cut left damaged."""

    path: str
    native: str | None
    version: int

    @property
    def subject(self) -> str:
        """What to call it in a finding."""
        return self.path if self.native is None else f"{self.path} on native branch {self.native}"


def find_torn_heads(
    root: RepositoryRoot, branches: Iterable[Shown], shown: Iterable[Shown]
) -> Iterator[TornVersion]:
    """Name the damaged versions at the heads of all that is written to; not those in use."""
    if not root.storage.location.is_local:
        return
    in_use: dict[tuple[str, str | None], int] = dict.fromkeys(
        ((path, None) for path in (COMMITS_KEPT, COMMIT_ACTORS, COMMIT_NOTES, RUNS, RUN_ACTORS)), 0
    )
    for each in branches:
        in_use |= {(MANIFEST, each.native): 0, (COMMITS, each.native): 0}
    for each in shown:
        for one in each.state.tables.values():
            at = (one.table_path, one.table_branch)
            in_use[at] = max(one.table_version, in_use.get(at, 0))
    for (path, native), used in in_use.items():
        try:
            table = root.open(path, branch=native)
            newest = max(table.versions(), default=0)
            if newest > max(used, table.refresh().version):
                yield TornVersion(path=path, native=native, version=newest)
        except L1Error:
            continue  # found elsewhere
