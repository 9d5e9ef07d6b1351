"""The log reads as one chain, however it was written down."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from omnigraph_l2 import Repository

sys.path.insert(0, str(Path(__file__).parent.parent / "opening"))

from other_publisher import COMMITS, OtherPublisher

PUBLISHES = 10


def commit(number: int, first: int) -> dict[str, Any]:
    """Make a row of the log; two commits share a version, as those of one write do."""
    return {
        "graph_commit_id": f"c{number}",
        "parent_commit_id": f"c{number - 1}" if number else "genesis",
        "manifest_version": first + number // 2,
        "created_at": datetime(2030, 1, 1) + timedelta(microseconds=number),  # noqa: DTZ001
    }


def test_two_that_complete_it_in_turns(tmp_path: Path) -> None:
    """Rows that stand twice and in the wrong order are read once and in theirs.

    The catalog is of a publisher that writes no commits into it, so the log is read.
    """
    publisher = OtherPublisher(tmp_path)
    publisher.create()
    first = publisher.manifest().version + 1
    for number in range(PUBLISHES):
        publisher.publish("node:Person", [{"id": str(number)}], "forgotten")
    log = lance.dataset(tmp_path / "_graph_commits.lance")
    log.delete("graph_commit_id = 'forgotten'")
    for turn in (range(2, 6), range(4), range(12, 2 * PUBLISHES), range(5, 15)):
        rows = [commit(number, first) for number in turn]
        lance.write_dataset(pa.Table.from_pylist(rows, schema=COMMITS), log, mode="append")
    with Repository.open(tmp_path) as repo:
        commits = repo.log()
        ids = [f"c{number}" for number in range(2 * PUBLISHES - 1, -1, -1)]
        assert [each.graph_commit_id for each in commits] == [*ids, "genesis"]
        assert repo.log(limit=9) == commits[:9]
        for number in range(PUBLISHES):
            shown = repo.snapshot(version=first + number).commit
            assert shown is not None
            assert shown.graph_commit_id == f"c{2 * number + 1}"
