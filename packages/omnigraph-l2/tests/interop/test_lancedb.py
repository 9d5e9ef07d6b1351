"""LanceDB reads a graph by the names of its tables, and cannot change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
import pytest

from omnigraph_l2 import GraphSchema, NodeType, Repository

_KEY = "node:Person"
_IMPL = "omnigraph_l2.namespace.GraphNamespace"


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """Two people on main, a third on a branch, and one that a dead writer left on each."""
    schema = GraphSchema(nodes=[NodeType("Person", {"age": pa.int32()})])
    with Repository.init(tmp_path / "repo", schema, durability="none") as repository:
        with repository.transaction() as tx:
            tx.append(_KEY, [{"id": "ann", "age": 41}, {"id": "bob", "age": 17}])
        repository.branches.create("dev")
        with repository.transaction("dev") as tx:
            tx.append(_KEY, [{"id": "dan", "age": 3}])
        for branch in ("main", "dev"):
            dataset = repository.snapshot(branch).dataset(_KEY)
            dataset.insert(pa.table({"id": ["ghost"]}, dataset.schema.remove(1)))
        yield repository


@pytest.fixture
def db(repo: Repository) -> Any:
    """LanceDB, told where the graph is."""
    return lancedb.connect(
        namespace_client_impl=_IMPL, namespace_client_properties={"uri": repo.uri}
    )


def _ids(table: Any) -> list[str]:
    return sorted(table.to_arrow()["id"].to_pylist())


def test_it_finds_and_reads_what_was_published(repo: Repository, db: Any) -> None:
    """By the key of the table; filters and limits work; a commit shows its own moment."""
    first = repo.log()[0].graph_commit_id
    assert db.list_tables().tables == [_KEY]
    table = db.open_table(_KEY)
    assert _ids(table) == ["ann", "bob"]
    assert [row["id"] for row in table.search().where("age > 18").limit(5).to_list()] == ["ann"]
    with repo.transaction() as tx:
        tx.append(_KEY, [{"id": "cat", "age": 5}])
    table.checkout_latest()
    assert _ids(table) == _ids(db.open_table(_KEY)) == ["ann", "bob", "cat"]
    assert _ids(db.open_table(_KEY, namespace_path=["commits", first])) == ["ann", "bob"]


def test_a_branch_is_named_as_lance_names_it(repo: Repository, db: Any) -> None:
    """Its native name opens it; in a namespace of the branch LanceDB refuses, and reads nothing."""
    native = repo.snapshot("dev").tables[_KEY].table_branch
    assert _ids(db.open_table(_KEY, branch=native)) == ["ann", "bob", "dan"]
    with pytest.raises(RuntimeError, match="belonging to branch"):
        db.open_table(_KEY, namespace_path=["branches", "dev"])


def _merge(table: Any) -> Any:
    merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    return merge.execute([{"id": "eve", "age": 1}])


@pytest.mark.parametrize(
    "change",
    [
        lambda db, table: table.add([{"id": "eve", "age": 1}]),
        lambda db, table: table.delete("true"),
        lambda db, table: table.update(where="true", values={"age": 1}),
        lambda db, table: _merge(table),
        lambda db, table: table.add_columns({"more": "1"}),
        lambda db, table: db.drop_table(_KEY),
        lambda db, table: db.create_table("other", [{"id": "eve"}]),
    ],
    ids=["add", "delete", "update", "merge", "columns", "drop", "create"],
)
def test_it_changes_nothing(repo: Repository, db: Any, change: Callable[[Any, Any], Any]) -> None:
    """Whatever is tried raises; the graph is as it was, and its writers go on."""
    before = repo.log()
    with pytest.raises((RuntimeError, ValueError)):
        change(db, db.open_table(_KEY))
    assert _ids(db.open_table(_KEY)) == ["ann", "bob"]
    assert db.list_tables().tables == [_KEY]
    assert repo.log() == before
    with repo.transaction() as tx:
        tx.append(_KEY, [{"id": "cat", "age": 5}])
    assert _ids(db.open_table(_KEY)) == ["ann", "bob", "cat"]
