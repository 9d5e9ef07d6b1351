"""What the dead left: native branches that nothing names, heads of tables that nobody published.

Always: nothing is written. What somebody may need, by a name, a tag, a run or a branch that started
from it, is not among it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import attrs

from omnigraph_l1 import BranchInfo
from omnigraph_l1.errors import L1Error
from omnigraph_l2._branches.names import has_unique_ending, is_owned_by, run_of
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import (
    COMMIT_ACTORS,
    COMMIT_NOTES,
    COMMITS,
    COMMITS_KEPT,
    MANIFEST,
    RUN_ACTORS,
    RUNS,
)
from omnigraph_l2._verifying.catalogs import Shown
from omnigraph_l2._verifying.survey import OLD_ENOUGH, Survey

__all__ = [
    "Behind",
    "LeftOver",
    "Torn",
    "datasets_of",
    "left_over",
    "not_at_head",
    "torn_heads",
]


@attrs.frozen(kw_only=True)
class LeftOver:
    """A native branch of a dataset that nothing names."""

    path: str
    native: str
    is_old: bool
    """Whether it is too old to be in the making."""

    @property
    def subject(self) -> str:
        """What to call it in a finding."""
        return f"native branch {self.native} of {self.path}"


def left_over(root: Root, there: Survey, shown: Iterable[Shown], now: datetime) -> list[LeftOver]:
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
    needed = there.needed() | pinned
    return [
        LeftOver(path=path, native=native, is_old=now - info.created_at > OLD_ENOUGH)
        for path, natives in _listed(root, there, paths)
        for native, info in natives.items()
        if (has_unique_ending(native) or run_of(native) is not None)
        and not any(is_owned_by(native, each) for each in needed)
    ]


def _listed(
    root: Root, there: Survey, paths: Iterable[str]
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
class Behind:
    """A table of a branch whose head is not the version that is published."""

    table_key: str
    shown: Shown
    version: int
    head: int

    @property
    def subject(self) -> str:
        """What to call it in a finding."""
        return f"{self.table_key} of {self.shown.subject}"


def not_at_head(root: Root, shown: Iterable[Shown]) -> Iterator[Behind]:
    """Name the tables, on each branch that has written to them, whose head is another version."""
    for each in shown:
        for key, entry in each.state.tables.items():
            if entry.table_branch != each.native and not (
                each.native is not None and is_owned_by(entry.table_branch, each.native)
            ):
                continue
            try:
                head = root.open(entry.table_path, branch=entry.table_branch).version
            except L1Error:
                continue  # found elsewhere
            if head != entry.table_version:
                yield Behind(table_key=key, shown=each, version=entry.table_version, head=head)


@attrs.frozen(kw_only=True)
class Torn:
    """The newest version of a lineage, which a power cut left damaged."""

    path: str
    native: str | None
    version: int

    @property
    def subject(self) -> str:
        """What to call it in a finding."""
        return self.path if self.native is None else f"{self.path} on native branch {self.native}"


def torn_heads(root: Root, branches: Iterable[Shown], shown: Iterable[Shown]) -> Iterator[Torn]:
    """Name the damaged versions at the heads of all that is written to; not those in use."""
    if not root.storage.place.is_local:
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
                yield Torn(path=path, native=native, version=newest)
        except L1Error:
            continue  # found elsewhere
