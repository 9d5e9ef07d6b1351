"""``tables --history`` tells what Lance did to a table, and ``tables KEY`` lists that one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2._cli.program import run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A repository of two tables; the one has two rows, one of them deleted."""
    monkeypatch.chdir(tmp_path)
    schema = GraphSchema(nodes=[NodeType("Person"), NodeType("Company")])
    with Repository.init(tmp_path / "graph", schema, durability="none") as repo:
        with repo.transaction(actor="ann") as tx:
            tx.append("node:Person", [{"id": "a"}, {"id": "b"}])
        with repo.transaction() as tx:
            tx.delete("node:Person", ids=["a"])
    return str(tmp_path / "graph")


def told(capfd: pytest.CaptureFixture[str], *typed: str, status: int = 0) -> str:
    """Run the program in this process, and give what it says; of an error, how it is told."""
    capfd.readouterr()
    assert run(typed) == status
    out, err = capfd.readouterr()
    return err if status else out


def test_a_program_reads_the_operations(place: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The newest first, with ids, times and the version that each was computed on."""
    found = json.loads(told(capfd, "tables", "node:Person", "--history", "--json", "-r", place))
    (table,) = found["tables"]
    assert table["table_key"] == "node:Person"
    records = table["history"]
    assert [one["operation"] for one in records] == ["Delete", "Append", "Overwrite"]
    assert [one["version"] for one in records] == [3, 2, 1]
    assert [one["read_version"] for one in records] == [2, 1, 0]
    assert all(one["transaction_id"] and one["committed_at"] for one in records)
    assert all(one["problem"] is None for one in records)


def test_a_person_reads_a_heading_and_a_table(
    place: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """For every table where none is named; as many versions as are asked for."""
    lines = told(capfd, "tables", "--history", "-n", "1", "-r", place).splitlines()
    assert {"node:Person", "node:Company"} <= set(lines)
    newest = [line.split()[:3] for line in lines if line.strip()[:1].isdigit()]
    assert sorted(newest) == [["1", "Overwrite", "0"], ["3", "Delete", "2"]]


def test_only_the_tables_that_are_named(place: str, capfd: pytest.CaptureFixture[str]) -> None:
    """In the list as in the history; one that is not there is an error."""
    found = json.loads(told(capfd, "tables", "node:Company", "--json", "-r", place))
    assert [one["table_key"] for one in found["tables"]] == ["node:Company"]
    for more in ([], ["--history"]):
        text = told(capfd, "tables", "node:Nobody", *more, "-r", place, status=1)
        assert "node:Nobody" in text
    text = told(capfd, "tables", "--history", "-n", "-1", "-r", place, status=2)
    assert "limit is how many versions" in text
