"""Append rows to a dataset that only ever grows: the commit log or the run registry.

Invariant: an append succeeds whatever others append at the same time, because appends do not
conflict with each other for long.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l1.errors import CommitConflict, DatasetExists, DatasetNotFound
from omnigraph_l2._model.deadlines import LOG_APPEND_SECONDS, wait_seconds
from omnigraph_l2._store.exact_commit import compact_if_due
from omnigraph_l2._store.repository_root import RepositoryRoot, refuse_auto_cleanup

__all__ = ["add_rows"]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.2


def add_rows(
    root: RepositoryRoot,
    path: str,
    rows: pa.Table,
    *,
    indexed: Sequence[str],
    branch: str | None = None,
) -> None:
    """Append rows; create the dataset if there is none; compact it if that is due."""
    if not rows.num_rows:
        return
    columns = [name for name in indexed if name in rows.schema.names]
    deadline = time.monotonic() + wait_seconds(LOG_APPEND_SECONDS)
    pause = _FIRST_PAUSE
    while True:
        try:
            table = refuse_auto_cleanup(_open(root, path, branch, rows.schema))
            written = table.append(rows).table
        except CommitConflict:
            if time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            root.remember(path, compact_if_due(written, columns))
            return


def _open(root: RepositoryRoot, path: str, branch: str | None, schema: pa.Schema) -> Table:
    try:
        return root.open(path, branch=branch)
    except DatasetNotFound:
        if branch is not None:
            raise
    try:
        return root.create(path, schema)
    except DatasetExists:
        return root.open(path)
