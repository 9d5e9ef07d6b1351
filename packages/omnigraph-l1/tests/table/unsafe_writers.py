"""What a process of its own writes to a store, and which error it gets."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from people import SCHEMA, rows

from omnigraph_l1 import Storage, Table
from omnigraph_l1.errors import L1Error

WRITES: dict[str, Callable[[Storage], object]] = {
    "create": lambda storage: Table.create(storage.child("new"), SCHEMA),
    "append": lambda storage: Table.open(storage).append(rows("b")),
    "merge": lambda storage: Table.open(storage).cas_merge(rows("b"), key="id", write_id="w"),
    "fork": lambda storage: Table.open(storage).fork("side.1"),
    "tag": lambda storage: Table.open(storage).tag("v"),
    "read": lambda storage: Table.open(storage).read(),
    "all": lambda storage: [write(storage) for write in list(WRITES.values())[:-1]],
}


def attempt(storage: Storage, what: str) -> str:
    """Do it, and return the name of its error."""
    try:
        WRITES[what](storage)
    except L1Error as error:
        return type(error).__name__
    return "nothing"


def in_a_process(storage: Storage, what: str) -> str:
    """Do the same in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(attempt, storage, what).result(120)
