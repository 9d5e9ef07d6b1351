"""What differs between two moments, whatever names them."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from differing import CITY, LIVES, PERSON, SCHEMA, add, contents, person, told

from omnigraph_l2 import GraphSchema, NodeType, Repository, TableChange, TableDiff, TableUpdate
from omnigraph_l2.errors import (
    CorruptRepository,
    InvalidRequest,
    SnapshotExpired,
    UnknownReference,
    UnknownTable,
    UnknownVersion,
)


def test_rows(repo: Repository) -> None:
    """Rows that came, changed and went, with what they were and are."""
    add(repo, person("a", "Ann", 5), person("c", None, None))
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=["b"])
    diff = repo.diff("start", "main")
    assert told(diff) == {
        "a": ("update", person("a", "Ann", 1), person("a", "Ann", 5)),
        "b": ("delete", person("b", "Bob", 2), None),
        "c": ("insert", None, person("c", None, None)),
    }
    assert dict(diff.tables) == {
        PERSON: TableDiff(
            table_key=PERSON, change=TableChange.CHANGED, inserted=1, updated=1, deleted=1
        )
    }
    back = repo.diff("main", "start")
    assert told(back)["c"] == ("delete", person("c", None, None), None)
    assert not told(diff, CITY)


def test_each_name_of_a_moment(repo: Repository) -> None:
    """A branch, a tag, a commit, a version of main, and a snapshot name the same moments."""
    start = repo.snapshot()
    assert start.commit is not None
    repo.branches.create("side")
    add(repo, person("c"))
    for before in ("start", "side", start, start.version, start.commit.graph_commit_id):
        for after in ("main", repo.snapshot(), repo.snapshot().version):
            diff = repo.diff(before, after)
            assert told(diff).keys() == {"c"}
            assert (diff.before.version, diff.after.version) == (start.version, start.version + 1)
            assert repo.diff(after, before).tables[PERSON].deleted == 1
        assert repo.diff(before, before).is_empty


def test_branches_of_branches(repo: Repository) -> None:
    """Two branches are compared by what they hold, wherever they parted."""
    repo.branches.create("one")
    add(repo, person("x", "main"), branch="main")
    add(repo, person("x", "one"), person("a", "Ann", 9), branch="one")
    repo.branches.create("two", source="one")
    add(repo, person("y", "two"), branch="two")
    assert told(repo.diff("main", "two")) == {
        "a": ("update", person("a", "Ann", 1), person("a", "Ann", 9)),
        "x": ("update", person("x", "main"), person("x", "one")),
        "y": ("insert", None, person("y", "two")),
    }
    assert told(repo.diff("one", "two")).keys() == {"y"}


def test_tables_and_properties_come_and_go(repo: Repository) -> None:
    """They are told by name; a table that stays lists its properties, one that goes its rows."""
    changed = NodeType("Person", {"name": pa.string(), "nick": pa.string(), "age": pa.int64()})
    repo.evolve(GraphSchema(nodes=[NodeType("Person", {"name": pa.string()}), NodeType("New")]))
    repo.evolve(GraphSchema(nodes=[changed, NodeType("New")]))
    diff = repo.diff("start", "main")
    tables = diff.tables
    assert {key: each.change.value for key, each in tables.items()} == {
        CITY: "removed",
        LIVES: "removed",
        PERSON: "changed",
        "node:New": "added",
    }
    assert (tables[CITY].deleted, tables["node:New"].inserted) == (1, 0)
    assert tables[PERSON].added_properties == ("nick", "age")
    assert tables[PERSON].removed_properties == ("age",)
    assert told(diff)["a"] == (
        "update",
        person("a", "Ann", 1),
        {"id": "a", "name": "Ann", "nick": None, "age": None},
    )
    assert told(diff, CITY) == {"o": ("delete", {"id": "o", "name": "Oslo"}, None)}
    assert "changed node:Person: 2 updated, property nick added, property age added" in str(diff)
    assert "removed node:City: 1 deleted" in str(diff)


def test_a_type_that_came_back(repo: Repository) -> None:
    """It is compared by id with what it was before it went."""
    with repo.transaction() as tx:
        tx.delete(LIVES, ids=["e"])
    repo.evolve(GraphSchema(nodes=[NodeType("City", {"name": pa.string()})]))
    repo.evolve(SCHEMA)
    add(repo, person("a", "Ann", 1), person("b", "Ben", 2), person("c"))
    assert told(repo.diff("start", "main")) == {
        "b": ("update", person("b", "Bob", 2), person("b", "Ben", 2)),
        "c": ("insert", None, person("c")),
    }


def test_what_was_written_again_is_no_difference(repo: Repository) -> None:
    """The same values, by an upsert, an overwrite or a compaction."""
    add(repo, person("a", "Ann", 1))
    with repo.transaction() as tx:
        tx.overwrite(CITY, [{"id": "o", "name": "Oslo"}])
    diff = repo.diff("start", "main")
    assert diff.is_empty
    assert str(diff).endswith("nothing differs")
    assert diff.after.tables[PERSON] != diff.before.tables[PERSON]


def test_some_tables(repo: Repository) -> None:
    """Only what is asked for is compared, and a table that neither has is told."""
    add(repo, person("c"))
    assert repo.diff("start", "main", [CITY]).is_empty
    assert list(repo.diff("start", "main", {CITY, PERSON}).tables) == [PERSON]
    assert repo.diff("start", "main", []).is_empty
    for wrong in (["node:Nobody"], [7]):
        with pytest.raises(UnknownTable):
            repo.diff("start", "main", wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="collection"):
        repo.diff("start", "main", PERSON)
    with pytest.raises(UnknownTable):
        repo.diff("start", "main", [CITY]).rows(PERSON)


def test_moments_that_are_not_there(repo: Repository) -> None:
    """They are told when the diff is asked for."""
    with pytest.raises(UnknownReference):
        repo.diff("start", "nowhere")
    with pytest.raises(UnknownVersion):
        repo.diff(10_000, "main")
    for wrong in (None, 1.5, True):
        with pytest.raises(InvalidRequest):
            repo.diff("main", wrong)  # type: ignore[arg-type]


def test_what_did_not_change_is_not_opened(repo: Repository) -> None:
    """A table at the same version on both sides costs nothing: it need not even be there."""
    add(repo, person("c"))
    for key in (CITY, LIVES):
        shutil.rmtree(Path(repo.uri, repo.snapshot().tables[key].table_path))
    with Repository.open(repo.uri) as other:
        before, after = other.snapshot(tag="start"), other.snapshot()
        assert list(other.diff(before, after).tables) == [PERSON]
        shutil.rmtree(Path(repo.uri, after.tables[PERSON].table_path))
        diff = other.diff(before, after)
        with pytest.raises(CorruptRepository):
            assert diff.tables


def test_a_stream_outlives_its_diff(repo: Repository) -> None:
    """What is read is held for as long as it is read."""
    add(repo, *(person(f"p{number}") for number in range(30_000)))
    reader = repo.diff("start", "main").rows(PERSON)
    gc.collect()
    batches = list(reader)
    assert sum(batch.num_rows for batch in batches) == 30_000
    assert max(batch.num_rows for batch in batches) <= 8_192
    assert reader.schema.names == ["change", "id", "before", "after"]


def test_a_version_that_is_gone(repo: Repository) -> None:
    """It is told as that, with the table."""
    before = repo.snapshot()
    add(repo, person("c"))
    after = repo.snapshot()
    entry = before.tables[PERSON]
    (
        Path(repo.uri)
        / entry.table_path
        / "_versions"
        / f"{2**64 - 1 - entry.table_version}.manifest"
    ).unlink()
    with Repository.open(repo.uri) as other:
        diff = other.diff(before.version, after.version)
        with pytest.raises(SnapshotExpired) as told_:
            assert diff.tables
        assert told_.value.table_key == PERSON
        with pytest.raises(SnapshotExpired):
            diff.rows(PERSON)


def test_versions_published_by_other_means(repo: Repository) -> None:
    """A table that was taken back by Lance's own restore is compared by what it holds."""
    first = repo.snapshot().tables[PERSON]
    add(repo, person("a", "Ann", 7), person("c"))
    table = repo._root.open(first.table_path).restore(first.table_version).table
    repo.publish([TableUpdate(table_key=PERSON, table_version=table.version, row_count=2)])
    assert repo.diff("start", "main").is_empty
    assert contents(repo)[PERSON]["a"]["age"] == 1
