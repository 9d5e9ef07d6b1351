"""What the writing processes of ``test_processes`` do. A module that they import."""

from __future__ import annotations

from typing import Any

from omnigraph_l2 import Repository, Transaction

__all__ = ["append_many"]


def append_many(uri: str, writer: int, count: int, go_on: Any, patience: float) -> None:
    """Append rows with whatever columns the table has at the time, a transaction each.

    The second half comes only when the schema has changed some times: so the two meet for sure.
    """
    with Repository.open(uri, durability="none") as repository:
        for turn in range(count):
            if turn == count // 2:
                assert go_on.wait(patience), "nobody changed the schema"
            row_id = f"{writer}-{turn}"

            def work(tx: Transaction, row_id: str = row_id) -> None:
                names = tx.snapshot.schema["node:Person"].properties
                tx.append("node:Person", [{"id": row_id} | {n: f"{n} {row_id}" for n in names}])

            repository.retry(work, attempts=100)
