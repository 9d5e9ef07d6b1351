"""Which versions of tables are needed, as the catalog tells.

Always: what any version of the catalog shows, from the oldest that counts on, is needed. Versions
are followed one by one, reading only what is new in each. Memory grows with what is needed only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from omnigraph_l1 import Table
from omnigraph_l1.errors import UnknownVersion
from omnigraph_l2._branches.names import is_owned_by
from omnigraph_l2._catalog.state import CatalogState
from omnigraph_l2._manifest.catalog import Loaded, followed, load

__all__ = ["Lineage", "Needs"]

Lineage = tuple[str, str | None]
"""A dataset, by its path below the root, and a native branch of it; None is main."""

_NOT_FOLLOWED = 2
"""The first versions of a branch may have lost rows, which following does not see."""


@attrs.define(eq=False)
class Needs:
    """What is needed of each lineage of each table."""

    versions: dict[Lineage, set[int]] = attrs.field(factory=dict)
    floors: dict[Lineage, int] = attrs.field(factory=dict)
    """The oldest version that a branch shows of its own lineage: from there on it is written."""
    paths: set[str] = attrs.field(factory=set)
    """The datasets of all tables that were ever registered."""

    def add(self, state: CatalogState) -> None:
        """Take in what a state shows."""
        for entry in state.tables.values():
            lineage = (entry.table_path, entry.table_branch)
            self.versions.setdefault(lineage, set()).add(entry.table_version)

    def add_written(self, state: CatalogState) -> None:
        """Take in what a state shows of a branch that is written on from it."""
        self.add(state)
        for entry in state.tables.values():
            owned = (
                entry.table_branch is None
                if state.branch is None
                else is_owned_by(entry.table_branch, state.branch)
            )
            if owned:
                lineage = (entry.table_path, entry.table_branch)
                before = self.floors.get(lineage, entry.table_version)
                self.floors[lineage] = min(before, entry.table_version)
        self.paths.update(each.location for each in state.registrations.values())

    def follow(self, catalog: Table, versions: Sequence[int], place: str) -> None:
        """Take in what some versions of a branch of the catalog show, in rising order."""
        before: Loaded | None = None
        for number, version in enumerate(versions):
            try:
                table = catalog.at(version)
            except UnknownVersion:
                continue  # another cleanup took it
            plainly = before is None or (catalog.branch is not None and number <= _NOT_FOLLOWED)
            before = load(table, place) if before is None or plainly else followed(before, table)
            self.add_written(before.state)
            # What is followed needs no commits; over days of them memory would grow.
            state = attrs.evolve(before.state, publishes=before.state.publishes[-1:], operations={})
            before = attrs.evolve(before, state=state)

    def of(self, lineage: Lineage) -> Iterable[int]:
        """Name the versions that are needed of a lineage."""
        return self.versions.get(lineage, ())

    @property
    def natives(self) -> frozenset[str]:
        """The native branches of tables that something needs."""
        return frozenset(native for _, native in self.versions if native is not None)
