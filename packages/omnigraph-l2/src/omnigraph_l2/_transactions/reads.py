"""What a transaction on the branch of a run has read, kept there for the publish of the run.

Always: elsewhere this does nothing. A table that was written, or looked at for a check, counts as
read. What a commit's own write did not keep is kept when the transaction ends.
"""

from __future__ import annotations

from typing import Final

from omnigraph_l1 import new_ulid
from omnigraph_l1.errors import CommitConflict
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._branches.names import run_of
from omnigraph_l2._catalog.rows import read_row

__all__ = ["Reads"]

_KEPT = declare("l2.run.reads_kept", "the branch of a run says what a transaction has read")
_ATTEMPTS: Final = 8


class Reads:
    """The tables that a transaction has read."""

    def __init__(self, branch: GraphBranch) -> None:
        self._branch = branch
        self._is_run = run_of(branch.name) is not None
        self._keys: set[str] = set()

    def add(self, *table_keys: str) -> None:
        """Count tables as read."""
        self._keys.update(table_keys)

    @property
    def to_keep(self) -> frozenset[str]:
        """What the commit shall keep."""
        return frozenset(self._keys) if self._is_run else frozenset()

    def keep(self) -> None:
        """Keep what is not kept yet."""
        for left in range(_ATTEMPTS - 1, -1, -1):
            if not self.to_keep:
                return
            loaded = self._branch.catalog.refresh()
            rows = [read_row(key) for key in sorted(self.to_keep - loaded.state.reads)]
            if not rows:
                return
            try:
                self._branch.catalog.merge(loaded, rows, write_id=new_ulid())
            except CommitConflict:
                if not left:
                    raise
            else:
                failpoint(_KEPT)
                return
