"""A large table to merge into, and the merges that are measured. Other processes import it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph_l2 import GraphSchema, NodeType, Repository

LARGE = GraphSchema(nodes=[NodeType("Thing", {"number": pa.int64(), "text": pa.string()})])
THING = "node:Thing"
_AT_ONCE = 250_000
_SCHEMA = LARGE[THING].arrow_schema


def grow(uri: str, rows: int, options: dict[str, str] | None = None) -> None:
    """Make a large table, with the index on its ids that upkeep gives it."""
    with Repository.init(uri, LARGE, options, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append(THING, pa.RecordBatchReader.from_batches(_SCHEMA, _batches(rows)))
        assert repo.optimize().tables[THING].indexes == ("id_btree",)


def change(repo: Repository, rows: int, count: int, turn: int) -> str:
    """Change so many rows on a new branch, and others on main; return the name of the branch.

    Of the rows, 4 in 10 are updated, 3 are inserted, and 3 are deleted.
    """
    name = f"side-{turn}"
    repo.branches.create(name)
    updated, inserted, deleted = _parts(count)
    step = rows // updated
    for branch, first in ((name, 2 * turn), ("main", 2 * turn + 1)):
        with repo.transaction(branch) as tx:
            chosen = range(first, first + updated * step, step)
            tx.upsert(THING, [{"id": _id(n), "number": -1, "text": "new"} for n in chosen])
            new = [f"{branch} {turn} {number}" for number in range(inserted)]
            tx.upsert(THING, [{"id": each, "number": 1, "text": "new"} for each in new])
            gone = range(first + step // 2, first + deleted * step, step)
            tx.delete(THING, ids=[_id(number) for number in gone])
    return name


def merge(repo: Repository, name: str, count: int) -> None:
    """Merge a branch on which so many rows were changed."""
    merged = repo.branches.merge(name).tables[THING]
    updated, inserted, deleted = _parts(count)
    assert (merged.updated, merged.inserted, merged.deleted) == (updated, inserted, deleted)


def merge_hundred(uri: str, rows: int, turn: int) -> float:
    """Change 100 rows on a branch, and others on main; return how long it took to merge."""
    with Repository.open(uri, durability="none") as repo:
        name = change(repo, rows, 100, turn)
        started = time.perf_counter()
        merge(repo, name, 100)
        return time.perf_counter() - started


def peak_of_a_merge(uri: str, rows: int) -> int:
    """Merge, and return how many bytes of memory this process had at most."""
    merge_hundred(uri, rows, 0)
    status = Path("/proc/self/status").read_text()
    line = next(each for each in status.splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _parts(count: int) -> tuple[int, int, int]:
    return 4 * count // 10, 3 * count // 10, 3 * count // 10


def _id(number: int) -> str:
    return f"t{number:08d}"


def _batches(rows: int) -> Any:
    for start in range(0, rows, _AT_ONCE):
        numbers = np.arange(start, min(start + _AT_ONCE, rows))
        ids = [_id(number) for number in numbers]
        texts = [f"text {number}" for number in numbers]
        yield pa.record_batch([ids, numbers, texts], schema=_SCHEMA)
