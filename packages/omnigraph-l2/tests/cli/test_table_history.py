"""``tables --history`` shows the Lance versions of tables; ``tables KEY`` lists one table."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_run import RunCommand

from omnigraph_l2 import GraphSchema, NodeType, Repository


@pytest.fixture
def location(tmp_path: Path) -> str:
    """A repository of two tables; the one has two rows, one of them deleted."""
    schema = GraphSchema(nodes=[NodeType("Person"), NodeType("Company")])
    with Repository.init(tmp_path / "graph", schema, durability="none") as repo:
        with repo.transaction(actor="ann") as tx:
            tx.append("node:Person", [{"id": "a"}, {"id": "b"}])
        with repo.transaction() as tx:
            tx.delete("node:Person", ids=["a"])
    return str(tmp_path / "graph")


def test_a_program_reads_the_operations(location: str, og: RunCommand) -> None:
    """The newest first, with ids, times and the version that each was computed on."""
    found = og("tables", "node:Person", "--history", "--json", "-r", location).document
    (table,) = found["tables"]
    assert table["table_key"] == "node:Person"
    records = table["history"]
    assert [one["operation"] for one in records] == ["Delete", "Append", "Overwrite"]
    assert [one["version"] for one in records] == [3, 2, 1]
    assert [one["read_version"] for one in records] == [2, 1, 0]
    assert all(one["transaction_id"] and one["committed_at"] for one in records)
    assert all(one["problem"] is None for one in records)


def test_a_person_reads_a_heading_and_a_table(location: str, og: RunCommand) -> None:
    """For every table where none is named; as many versions as are asked for."""
    lines = og("tables", "--history", "-n", "1", "-r", location).out.splitlines()
    assert {"node:Person", "node:Company"} <= set(lines)
    newest = [line.split()[:3] for line in lines if line.strip()[:1].isdigit()]
    assert sorted(newest) == [["1", "Overwrite", "0"], ["3", "Delete", "2"]]


def test_only_the_tables_that_are_named(location: str, og: RunCommand) -> None:
    """In the list as in the history; one that is not there is an error."""
    found = og("tables", "node:Company", "--json", "-r", location).document
    assert [one["table_key"] for one in found["tables"]] == ["node:Company"]
    for more in ([], ["--history"]):
        text = og("tables", "node:Unknown", *more, "-r", location, status=1).err
        assert "node:Unknown" in text
    text = og("tables", "--history", "-n", "-1", "-r", location, status=2).err
    assert "invalid limit -1" in text
