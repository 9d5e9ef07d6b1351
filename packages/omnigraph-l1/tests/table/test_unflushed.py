"""A disk that fails when a version is visible already: its outcome is unknown, not undone."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from people import SCHEMA, ids, rows

from omnigraph_l1 import Table
from omnigraph_l1.errors import OutcomeUnknown
from omnigraph_l1.failpoints import handling

COMMITS: dict[str, tuple[Callable[[Table], object], list[str]]] = {
    "append": (lambda table: table.append(rows("c")), ["a", "b", "c"]),
    "merge": (lambda table: table.cas_merge(rows("c"), key="id", write_id="w"), ["a", "b", "c"]),
    "delete": (lambda table: table.delete("id = 'a'"), ["b"]),
    "restore": (lambda table: table.restore(2), ["a"]),
    "compact": (lambda table: table.compact(), ["a", "b"]),
    "index": (lambda table: table.create_index("id"), ["a", "b"]),
}


@pytest.mark.parametrize("commit", COMMITS)
def test_a_version_that_cannot_be_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commit: str
) -> None:
    """Whoever looks finds it; the next commit flushes it before it stands on it."""
    work, expected = COMMITS[commit]
    table = Table.create(tmp_path / "table", SCHEMA).append(rows("a")).table.append(rows("b")).table
    fsync = os.fsync
    failing: list[str] = []

    def flush(descriptor: int) -> None:
        if failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(descriptor)

    def see(name: str) -> None:
        if name.endswith(".visible"):
            failing.append(name)

    monkeypatch.setattr(os, "fsync", flush)
    with handling(see), pytest.raises(OutcomeUnknown):
        work(table)
    assert len(failing) == 1
    assert ids(table.refresh().read()) == expected
    failing.clear()
    assert ids(table.refresh().append(rows("d")).table.read()) == [*expected, "d"]
