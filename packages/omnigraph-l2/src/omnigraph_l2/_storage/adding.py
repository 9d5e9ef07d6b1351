"""Adding rows to a dataset to which rows are only ever added: the log, the registry of runs.

Always: it is done, whatever others add meanwhile; they are in each other's way for a moment only.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l1.errors import CommitConflict, DatasetExists, DatasetNotFound
from omnigraph_l2._storage.root import Root
from omnigraph_l2._storage.upkeep import kept_up

__all__ = ["add_rows"]

_PATIENCE_SECONDS = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.2


def add_rows(
    root: Root, path: str, rows: pa.Table, *, indexed: Sequence[str], branch: str | None = None
) -> None:
    """Add rows, make the dataset if there is none, and do the upkeep that is due."""
    if not rows.num_rows:
        return
    columns = [name for name in indexed if name in rows.schema.names]
    deadline = time.monotonic() + _PATIENCE_SECONDS
    pause = _FIRST_PAUSE
    while True:
        try:
            written = _opened(root, path, branch, rows.schema).append(rows).table
        except CommitConflict:
            if time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            root.remember(path, kept_up(written, columns))
            return


def _opened(root: Root, path: str, branch: str | None, schema: pa.Schema) -> Table:
    try:
        return root.open(path, branch=branch)
    except DatasetNotFound:
        if branch is not None:
            raise
    try:
        return root.create(path, schema)
    except DatasetExists:
        return root.open(path)
