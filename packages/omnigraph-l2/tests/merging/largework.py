"""A large table to merge into, and the merges that are measured. Other processes import it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l2 import GraphSchema, NodeType, Repository, TableUpdate

LARGE = GraphSchema(nodes=[NodeType("Thing", {"number": pa.int64(), "text": pa.string()})])
THING = "node:Thing"
_AT_ONCE = 250_000
_SCHEMA = LARGE[THING].arrow_schema


def is_full_size() -> bool:
    """Tell whether full sizes were asked for."""
    return os.environ.get("OMNIGRAPH_FULL_SIZE") == "1"


def grow(uri: str, rows: int) -> None:
    """Make a large table, with the index on its ids that upkeep gives it."""
    with Repository.init(uri, LARGE, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append(THING, pa.RecordBatchReader.from_batches(_SCHEMA, _batches(rows)))
        entry = repo.snapshot().tables[THING]
        table = Table.open(f"{uri}/{entry.table_path}", durability="none")
        made = table.create_index("id")
        update = TableUpdate(table_key=THING, table_version=made.version, row_count=rows)
        repo.publish([update])


def merge_hundred(uri: str, rows: int, turn: int) -> float:
    """Change 100 rows on a branch, and others on main; give how long it took to merge."""
    with Repository.open(uri, durability="none") as repo:
        name = f"side-{turn}"
        repo.branches.create(name)
        step = rows // 40
        for branch, first in ((name, 2 * turn), ("main", 2 * turn + 1)):
            with repo.transaction(branch) as tx:
                chosen = range(first, first + 40 * step, step)
                tx.upsert(THING, [{"id": _id(n), "number": -1, "text": "new"} for n in chosen])
                new = [f"{branch} {turn} {number}" for number in range(30)]
                tx.upsert(THING, [{"id": each, "number": 1, "text": "new"} for each in new])
                gone = range(first + step // 2, first + 30 * step, step)
                tx.delete(THING, ids=[_id(number) for number in gone])
        started = time.perf_counter()
        told = repo.branches.merge(name).tables[THING]
        took = time.perf_counter() - started
        assert (told.inserted, told.updated, told.deleted) == (30, 40, 30)
        return took


def peak_of_a_merge(uri: str, rows: int) -> int:
    """Merge, and tell how many bytes of memory this process had at most."""
    merge_hundred(uri, rows, 0)
    status = Path("/proc/self/status").read_text()
    line = next(each for each in status.splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _id(number: int) -> str:
    return f"t{number:08d}"


def _batches(rows: int) -> Any:
    for start in range(0, rows, _AT_ONCE):
        numbers = np.arange(start, min(start + _AT_ONCE, rows))
        ids = [_id(number) for number in numbers]
        texts = [f"text {number}" for number in numbers]
        yield pa.record_batch([ids, numbers, texts], schema=_SCHEMA)
