"""A moment of the graph: what every name of one comes down to.

Always: it is one version of one native branch of the catalog, up to one commit. It never moves.
"""

from __future__ import annotations

import attrs

from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.state import CatalogState, as_of, empty_state
from omnigraph_l2._leases import Hold
from omnigraph_l2._manifest.catalog import Catalog, Loaded, read_rows

__all__ = ["Moment"]


@attrs.frozen(kw_only=True)
class Moment:
    """One moment of the graph."""

    branch: str
    """The name of the branch by which it was asked for; of the one that it is on otherwise."""
    native: str | None
    """The native branch of the catalog that it is on; None is main."""
    catalog: Catalog = attrs.field(repr=False, eq=False)
    loaded: Loaded = attrs.field(repr=False, eq=False)
    commit: GraphCommit | None
    """The commit that made it; None where there is no log."""
    sequence: int | None = None
    """The last commit that counts, where the version of the catalog holds later ones too."""
    hold: Hold | None = attrs.field(default=None, repr=False, eq=False)
    """What keeps it from being cleaned up, as long as this is there."""
    is_head: bool = False
    """Whether it was the head of its branch when it was looked for."""

    @property
    def version(self) -> int:
        """The version of the catalog."""
        return self.loaded.table.version

    @property
    def commit_id(self) -> str | None:
        """The id of the commit that made it."""
        return None if self.commit is None else self.commit.graph_commit_id

    def state(self) -> CatalogState:
        """Give what was visible: without what later commits of the same write made."""
        state = self.loaded.state
        if self.sequence is None:
            return state
        start = attrs.evolve(empty_state(state.place, self.native), version=state.version)
        return as_of(start, read_rows(self.loaded.table), self.sequence)

    def newest(self) -> Loaded:
        """Give the newest state of the branch that it is on."""
        return self.loaded if self.is_head else self.catalog.refresh()
