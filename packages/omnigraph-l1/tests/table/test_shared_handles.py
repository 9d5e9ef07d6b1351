"""Threads share one handle while one of them looks after the table."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from people import rows

from omnigraph_l1 import IndexKind, Table

READS: tuple[Callable[[Table], object], ...] = (
    lambda table: table.read(),
    lambda table: table.count(),
    lambda table: table.refresh(),
    lambda table: table.fragments(),
    lambda table: table.indexes(),
)
UPKEEP: dict[str, Callable[[Table], object]] = {
    "compact": lambda table: table.compact(),
    "index": lambda table: table.create_index("id"),
    "text index": lambda table: table.create_index("id", IndexKind.INVERTED),
    "remove versions": lambda table: table.remove_versions([1]),
}


@pytest.mark.parametrize("upkeep", UPKEEP)
def test_upkeep_beside_readers_of_one_handle(local: Table, upkeep: str) -> None:
    """Neither meets the other's borrow of Lance's object."""
    shared = local
    for part in range(6):
        shared = shared.append(rows(*(f"{part}-{number}" for number in range(2_000)))).table
    failures: list[BaseException] = []
    done = threading.Event()

    def read_on(read: Callable[[Table], object]) -> None:
        while not done.is_set():
            try:
                read(shared)
            except BaseException as error:  # noqa: BLE001 - whatever it is
                failures.append(error)
                return

    readers = [threading.Thread(target=read_on, args=(read,)) for read in READS]
    for reader in readers:
        reader.start()
    try:
        UPKEEP[upkeep](shared)
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert failures == []
