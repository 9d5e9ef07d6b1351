"""Keeping the catalog small and quick: by whoever publishes, while it has the turn.

Always: what is dropped is superseded, and in the log; older versions of the catalog still hold it.
Few fragments matter more than few writes: each publish reads the keys of all of them.
"""

from __future__ import annotations

from typing import Final

import attrs

from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.superseding import superseded
from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._manifest.catalog import Loaded, compacted, followed, read_rows

__all__ = ["CatalogUpkeep"]

_PRUNED = declare("l2.catalog.pruned", "rows that are superseded are gone from the catalog")
_COMPACTED = declare("l2.catalog.compacted", "the fragments of the catalog are merged")

_MANY_FRAGMENTS: Final = 9
_PUBLISHES_KEPT: Final = 64
_SMALL_FRAGMENT_ROWS: Final = 4_096


@attrs.frozen
class CatalogUpkeep:
    """What is done to the catalog once enough has been published."""

    _log: GraphLog

    def after(self, loaded: Loaded) -> Loaded | None:
        """Do what is due; give the version that it made, if any."""
        if len(loaded.state.publishes) >= 2 * _PUBLISHES_KEPT:
            return self._pruned(loaded)
        if len(loaded.fragments) >= _MANY_FRAGMENTS:
            made = loaded.table.compact(target_rows=_SMALL_FRAGMENT_ROWS, drop_deleted=False)
            failpoint(_COMPACTED)
            return compacted(loaded, made)
        return None

    def at_once(self, loaded: Loaded) -> Loaded | None:
        """Do everything that can be done; give the version that it made, if any."""
        made = self._pruned(loaded)
        return None if made is loaded else made

    def _pruned(self, loaded: Loaded) -> Loaded:
        """Drop what is superseded, and make one fragment of the rest."""
        state, table = loaded.state, loaded.table
        self._log.complete(state)
        gone = list(
            superseded(
                read_rows(table),
                state,
                logged=self._log.logged(state),
                keep_publishes=_PUBLISHES_KEPT,
            )
        )
        if gone:
            table = table.delete_keys("object_id", gone).table
            failpoint(_PRUNED)
        table = table.compact().table
        failpoint(_COMPACTED)
        return followed(loaded, table)
