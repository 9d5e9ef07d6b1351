"""Lists in the tables of a repository, for the checker of concurrent histories.

A module that the worker processes import. Each key is a table; a list is its rows, in the order in
which they came. What is read is expected to be still so at the publish, so that the whole
transaction has one location in a serial order.
"""

from __future__ import annotations

from collections.abc import Sequence

from fleet import Location

from omnigraph_l2 import Repository, Transaction
from omnigraph_l2.errors import Conflict
from omnigraph_testing.histories import Aborted, Append, MicroOp, Worker

__all__ = ["ListClient"]

_CAME_AT = "_row_created_at_version"


class ListClient:
    """One worker's handle on the repository."""

    def __init__(self, location: Location, worker: Worker) -> None:
        self._repository: Repository = location.open(actor=f"{worker.process}.{worker.incarnation}")

    def transact(self, ops: Sequence[MicroOp], branch: str | None) -> list[list[int] | None]:
        """Do all of it in one transaction."""
        try:
            with self._repository.transaction(branch or "main") as tx:
                return [self._do(tx, op) for op in ops]
        except Conflict as conflict:
            raise Aborted(reason=conflict.kind) from conflict

    def _do(self, tx: Transaction, op: MicroOp) -> list[int] | None:
        table_key = f"node:{op.key}"
        if isinstance(op, Append):
            tx.append(table_key, [{"id": str(op.element), "value": op.element}])
            return None
        tx.expect(table_key)
        rows = tx.read(table_key, columns=["value", _CAME_AT]).to_pylist()
        rows.sort(key=lambda row: row[_CAME_AT])
        return [row["value"] for row in rows]
