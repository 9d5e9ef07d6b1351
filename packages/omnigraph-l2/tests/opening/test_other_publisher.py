"""Catalogs of another publisher: read, published into, and read by it again."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from other_publisher import OtherPublisher

from omnigraph_l2 import INTERNAL_MANIFEST_SCHEMA_VERSION, Repository, TableTombstone
from omnigraph_l2.errors import DanglingEdges


@pytest.fixture
def other(tmp_path: Path) -> OtherPublisher:
    """A repository that we never touched, with two commits."""
    made = OtherPublisher(tmp_path / "repo")
    made.create()
    made.publish("node:Person", [{"id": "a", "name": "Ann"}, {"id": "b"}], "first")
    made.publish("edge:Knows", [{"id": "e", "src": "a", "dst": "b"}], "second")
    return made


def names(root: Path) -> list[str]:
    """List what lies at the root."""
    return sorted(path.name for path in root.iterdir())


def test_it_is_read(other: OtherPublisher) -> None:
    """Tables, rows, the log and older versions are there, and reading leaves no trace."""
    before = names(other.root)
    repo = Repository.open(other.root)
    snapshot = repo.snapshot()
    assert snapshot.read("node:Person").to_pylist() == other.read("node:Person")
    assert snapshot.read("edge:Knows").to_pylist() == other.read("edge:Knows")
    assert snapshot.commit is not None
    assert snapshot.commit.graph_commit_id == "second"
    assert [commit.graph_commit_id for commit in repo.log()] == ["second", "first", "genesis"]
    for commit_id, rows in (("genesis", 0), ("first", 2), ("second", 2)):
        at = repo.snapshot(commit=commit_id)
        assert at.read("node:Person").num_rows == rows
        assert at.commit == repo.commit(commit_id)
        older = repo.snapshot(version=at.version).commit
        assert older is not None
        assert older.graph_commit_id == commit_id
    assert snapshot.schema["edge:Knows"].source is None  # type: ignore[union-attr]
    repo.close()
    assert names(other.root) == before


def test_it_is_published_into(other: OtherPublisher) -> None:
    """What we publish is read there, with the commits in one chain."""
    with Repository.open(other.root, actor="us") as repo:
        with repo.transaction(message="ours") as tx:
            tx.append("node:Person", [{"id": "c", "name": "Cat"}])
            tx.append("edge:Knows", [{"id": "f", "src": "c", "dst": "a"}])
        assert tx.commit is not None
        assert tx.commit.parent_commit_id == "second"
        with repo.transaction() as tx:
            tx.upsert("node:Person", [{"id": "a", "name": "Anna"}])
            tx.delete("edge:Knows", ids=["e"])
    assert other.read("node:Person") == [
        {"id": "a", "name": "Anna"},
        {"id": "b", "name": None},
        {"id": "c", "name": "Cat"},
    ]
    assert other.read("edge:Knows") == [{"id": "f", "src": "c", "dst": "a"}]
    log = other.commits()
    assert [row["graph_commit_id"] for row in log][:3] == ["genesis", "first", "second"]
    assert len(log) == 5
    for before, after in itertools.pairwise(log):
        assert after["parent_commit_id"] == before["graph_commit_id"]


def test_both_publish_in_turns(other: OtherPublisher) -> None:
    """The head is whoever's commit is newest; the chain has no hole and no fork."""
    for number in range(4):
        with Repository.open(other.root) as repo, repo.transaction() as tx:
            tx.append("node:Person", [{"id": f"ours-{number}"}])
        other.publish("node:Person", [{"id": f"theirs-{number}"}], f"theirs-{number}")
        repo = Repository.open(other.root)
        head = repo.snapshot().commit
        assert head is not None
        assert head.graph_commit_id == f"theirs-{number}"
    repo = Repository.open(other.root)
    log = repo.log()
    assert len(log) == 3 + 8
    for after, before in itertools.pairwise(log):
        assert after.parent_commit_id == before.graph_commit_id
    for number, commit in enumerate(reversed(log[:-3]), 1):
        assert repo.snapshot(commit=commit.graph_commit_id).read("node:Person").num_rows == (
            2 + number
        )
    assert len(other.read("node:Person")) == 2 + 8


def test_both_publish_while_a_handle_is_open(other: OtherPublisher) -> None:
    """A handle that follows sees what a handle that opens anew sees."""
    with Repository.open(other.root) as repo:
        for number in range(3):
            with repo.transaction() as tx:
                tx.append("node:Person", [{"id": f"ours-{number}"}])
            repo.flush()
            other.publish("node:Person", [{"id": f"theirs-{number}"}], f"theirs-{number}")
            fresh = Repository.open(other.root)
            assert fresh.log() == repo.log()
            assert fresh.snapshot().tables == repo.snapshot().tables
            assert fresh.snapshot().commit == repo.snapshot().commit
            fresh.close()
        log = repo.log()
    for after, before in itertools.pairwise(log):
        assert after.parent_commit_id == before.graph_commit_id


def test_an_end_may_be_in_any_node_table(other: OtherPublisher) -> None:
    """The types of an edge's ends are not known, so that any node will do, and none will not."""
    with Repository.open(other.root) as repo:
        with pytest.raises(DanglingEdges), repo.transaction() as tx:
            tx.append("edge:Knows", [{"id": "g", "src": "nobody", "dst": "a"}])
        with pytest.raises(DanglingEdges), repo.transaction() as tx:
            tx.delete("node:Person", ids=["a"])
        with repo.transaction() as tx:
            tx.append("edge:Knows", [{"id": "g", "src": "b", "dst": "a"}])
    assert len(other.read("edge:Knows")) == 2


def test_a_table_that_we_drop_is_gone_there(other: OtherPublisher) -> None:
    """Our tombstone is understood."""
    with Repository.open(other.root) as repo:
        entry = repo.snapshot().tables["edge:Knows"]
        change = TableTombstone(table_key="edge:Knows", table_version=entry.table_version + 1)
        assert repo.publish([change]) is not None
    assert list(other.tables()) == ["node:Person"]


def test_version_1_is_read_and_brought_up(tmp_path: Path) -> None:
    """A catalog without stamp and annotation is read, and brought up by the first publish."""
    other = OtherPublisher(tmp_path / "repo")
    other.create(version=1)
    other.publish("node:Person", [{"id": "a"}], "first")
    with Repository.open(other.root) as repo:
        assert repo.snapshot().read("node:Person").num_rows == 1
        assert other.manifest().schema.metadata is None
        with repo.transaction() as tx:
            tx.append("node:Person", [{"id": "b"}])
        assert tx.commit is not None
        assert tx.commit.parent_commit_id == "first"
    newest = str(INTERNAL_MANIFEST_SCHEMA_VERSION).encode()
    assert other.manifest().schema.metadata == {b"omnigraph:internal_schema_version": newest}
    assert len(other.read("node:Person")) == 2
