"""The log reads as one chain, however it was written down."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from omnigraph_l2 import GraphCommit, GraphSchema, NodeType, Repository
from omnigraph_l2._history.records import commit_rows
from omnigraph_l2._storage.layout import COMMITS

NOW = datetime(2030, 1, 1, tzinfo=timezone.utc)


def commit(number: int) -> GraphCommit:
    """Make a commit; two share a version, as those of one write do."""
    return GraphCommit(
        graph_commit_id=f"c{number}",
        parent_commit_id=f"c{number - 1}",
        manifest_version=100 + number // 2,
        created_at=NOW + timedelta(microseconds=number),
    )


def test_two_that_complete_it_in_turns(tmp_path: Path) -> None:
    """Rows that stand twice and in the wrong order are read once and in theirs."""
    repo = Repository.init(tmp_path / "repo", GraphSchema(nodes=[NodeType("A")]))
    log = repo._branch("main")._log
    table = repo._root.open(COMMITS)
    for numbers in (range(3, 9), range(6), range(20, 30), range(9, 25)):
        table = table.append(commit_rows(commit(number) for number in numbers)).table
    ids = [each.graph_commit_id for each in log.newest_first(None)]
    assert ids[:-1] == [f"c{number}" for number in range(29, -1, -1)]
    head = log.head(None)
    assert head is not None
    assert head.graph_commit_id == "c29"
    for until, wanted in ((113, "c27"), (104, "c9"), (100, "c1")):
        older = log.head(None, until=until)
        assert older is not None
        assert older.graph_commit_id == wanted
