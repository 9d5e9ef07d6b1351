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
from omnigraph_l2._storage.layout import COMMITS, MANIFEST
from omnigraph_l2._verifying.catalogs import Shown
from omnigraph_l2._verifying.survey import OLD_ENOUGH, Survey

__all__ = ["LeftOver", "left_over", "not_at_head"]


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


def left_over(root: Root, there: Survey, paths: Iterable[str], now: datetime) -> list[LeftOver]:
    """Name the native branches that nothing names, of the catalog, the log and the tables."""
    if not there.is_whole:
        return []
    needed = there.needed()
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
    for path in (COMMITS, *paths):
        try:
            yield path, root.open(path).branches()
        except L1Error:
            continue  # that it cannot be read is found elsewhere


def not_at_head(root: Root, shown: Iterable[Shown]) -> Iterator[tuple[str, Shown, int]]:
    """Name the tables, on each branch, whose head is not the version that is published."""
    for each in shown:
        for key, entry in each.state.tables.items():
            if entry.table_branch is not None and not _is_own(entry.table_branch, each.native):
                continue  # the branch has not written to it, and it is another one's
            if entry.table_branch is None and each.native is not None:
                continue
            try:
                head = root.open(entry.table_path, branch=entry.table_branch).version
            except L1Error:
                continue
            if head != entry.table_version:
                yield key, each, head


def _is_own(table_branch: str, native: str | None) -> bool:
    return native is not None and is_owned_by(table_branch, native)
