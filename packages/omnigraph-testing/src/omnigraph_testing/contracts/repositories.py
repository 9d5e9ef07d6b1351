"""The contract of every repository: what a user of one relies on.

    class TestMyRepository(RepositoryContract):
        @pytest.fixture
        def repository(self):
            return my_repository(SCHEMA)        # empty, and used by this test only

        @pytest.fixture
        def reopened(self):
            return another_handle               # what ``reopened()`` gives sees the same location

Invariant: it uses public names of omnigraph_l2 only. Not here: what happens when processes race or
die; that needs the real location, and ``crash`` and ``histories``.
"""

# ruff: noqa: PLR2004, PT012, S101 - these are tests, to be run by others

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest

from omnigraph_testing._extras import needs_graph

with needs_graph("omnigraph_testing.contracts.repositories"):
    import pyarrow as pa

    from omnigraph_l2 import EdgeType, GraphSchema, NodeType, RegisterTable, Repository, TableUpdate
    from omnigraph_l2.errors import (
        DanglingEdges,
        DuplicateIds,
        ExpectedVersionMismatch,
        InvalidChange,
        InvalidData,
        TransactionClosed,
        UnknownCommit,
        UnknownTable,
        UnknownVersion,
    )

__all__ = ["SCHEMA", "RepositoryContract"]

SCHEMA: Final = GraphSchema(
    nodes=[NodeType("Person", {"name": pa.string(), "age": pa.int32()}), NodeType("City")],
    edges=[EdgeType("Lives", "Person", "City", {"since": pa.int64()})],
)
_PERSON, _CITY, _LIVES = "node:Person", "node:City", "edge:Lives"


def _ids(repository: Repository, table_key: str) -> list[str]:
    return sorted(repository.snapshot().read(table_key).column("id").to_pylist())


class RepositoryContract:
    """Subclass it, override ``repository`` and ``reopened``, and run pytest."""

    @pytest.fixture
    def repository(self) -> Repository:
        """Return an empty repository with ``SCHEMA``."""
        raise NotImplementedError

    @pytest.fixture
    def reopened(self) -> Callable[[], Repository]:
        """Return what opens another handle on the same repository."""
        raise NotImplementedError

    def test_a_new_repository_has_its_tables_and_one_commit(self, repository: Repository) -> None:
        """They are empty, and the commit has no parent."""
        snapshot = repository.snapshot()
        assert sorted(snapshot.tables) == [_LIVES, _CITY, _PERSON]
        assert all(entry.row_count == 0 for entry in snapshot.tables.values())
        (genesis,) = repository.log()
        assert genesis.parent_commit_id is None

    def test_tables_become_visible_together(
        self, repository: Repository, reopened: Callable[[], Repository]
    ) -> None:
        """Before the end no reader sees anything; after it each reader sees everything."""
        other = reopened()
        with repository.transaction(actor="ann", message="first") as tx:
            tx.append(_PERSON, [{"id": "a", "name": "Ann", "age": 1}])
            tx.append(_CITY, [{"id": "c"}])
            tx.append(_LIVES, [{"id": "l", "src": "a", "dst": "c", "since": None}])
            assert tx.read(_PERSON).num_rows == 1
            assert all(each.row_count == 0 for each in other.snapshot().tables.values())
        assert tx.commit is not None
        assert {key: e.row_count for key, e in other.snapshot().tables.items()} == {
            _PERSON: 1,
            _CITY: 1,
            _LIVES: 1,
        }
        newest, genesis = other.log()
        assert (newest.actor_id, newest.message) == ("ann", "first")
        assert newest.parent_commit_id == genesis.graph_commit_id
        assert newest == tx.commit

    def test_an_exception_publishes_nothing(self, repository: Repository) -> None:
        """Whatever was done before it."""
        with pytest.raises(ZeroDivisionError), repository.transaction() as tx:
            tx.append(_CITY, [{"id": "c"}])
            _ = tx.read(_CITY).num_rows / 0
        assert _ids(repository, _CITY) == []
        with pytest.raises(TransactionClosed):
            tx.append(_CITY, [{"id": "d"}])

    def test_every_way_of_changing(self, repository: Repository) -> None:
        """Append, upsert with a column left out, delete by filter and by id, overwrite."""
        with repository.transaction() as tx:
            tx.append(_PERSON, [{"id": x, "name": x, "age": n} for n, x in enumerate("abcd")])
        with repository.transaction() as tx:
            tx.upsert(_PERSON, pa.table({"id": ["a", "e"], "age": pa.array([9, 5], pa.int32())}))
            tx.delete(_PERSON, "age = 2")
            tx.delete(_PERSON, ids=["d", "nobody"])
        rows = {
            r["id"]: (r["name"], r["age"]) for r in repository.snapshot().read(_PERSON).to_pylist()
        }
        assert rows == {"a": ("a", 9), "b": ("b", 1), "e": (None, 5)}
        with repository.transaction() as tx:
            tx.overwrite(_PERSON, [{"id": "z", "name": None, "age": None}])
        assert _ids(repository, _PERSON) == ["z"]

    def test_an_append_brings_new_ids(self, repository: Repository) -> None:
        """One that exists, or stands twice, is listed, and nothing is published."""
        with repository.transaction() as tx:
            tx.append(_CITY, [{"id": "a"}])
        with pytest.raises(DuplicateIds) as existing, repository.transaction() as tx:
            tx.append(_CITY, [{"id": "a"}, {"id": "b"}])
        assert existing.value.existing == ("a",)
        with pytest.raises(DuplicateIds) as repeated, repository.transaction() as tx:
            tx.append(_CITY, [{"id": "x"}, {"id": "x"}])
        assert repeated.value.repeated == ("x",)
        assert _ids(repository, _CITY) == ["a"]

    def test_edges_never_dangle(self, repository: Repository) -> None:
        """Neither by adding an edge nor by taking a node away."""
        with repository.transaction() as tx:
            tx.append(_PERSON, [{"id": "a", "name": None, "age": None}])
            tx.append(_CITY, [{"id": "c"}])
            tx.append(_LIVES, [{"id": "l", "src": "a", "dst": "c", "since": None}])
        with pytest.raises(DanglingEdges), repository.transaction() as tx:
            tx.append(_LIVES, [{"id": "m", "src": "a", "dst": "nowhere", "since": None}])
        with pytest.raises(DanglingEdges), repository.transaction() as tx:
            tx.delete(_CITY, ids=["c"])
        with repository.transaction() as tx:
            tx.delete(_LIVES, "true")
            tx.delete(_CITY, ids=["c"])
        assert _ids(repository, _CITY) == []

    def test_data_that_does_not_fit(self, repository: Repository) -> None:
        """All problems are reported at once, and nothing is written."""
        with pytest.raises(InvalidData) as refused, repository.transaction() as tx:
            tx.append(_PERSON, [{"id": "a", "name": 3, "age": 2.5, "extra": 1}])
        assert {problem.column for problem in refused.value.problems} == {"name", "age", "extra"}
        with pytest.raises(UnknownTable), repository.transaction() as tx:
            tx.append("node:Nobody", [])

    def test_an_expectation_holds_at_the_publish(
        self, repository: Repository, reopened: Callable[[], Repository]
    ) -> None:
        """Also for a table that is only read; and a read that is written is one."""
        other = reopened()

        def meanwhile() -> None:
            with other.transaction() as second:
                second.append(_CITY, [{"id": f"c{len(other.log())}"}])

        with pytest.raises(ExpectedVersionMismatch) as lost, repository.transaction() as tx:
            tx.expect(_CITY)
            tx.append(_PERSON, [{"id": "a", "name": None, "age": None}])
            meanwhile()
        assert lost.value.table_key == _CITY
        assert lost.value.actual > lost.value.expected
        with repository.transaction() as tx:
            tx.append(_CITY, [{"id": "blind"}])
            meanwhile()
        assert len(_ids(repository, _CITY)) == 3
        calls: list[int] = []

        def count(tx: Any) -> None:
            number = tx.read(_CITY).num_rows
            tx.append(_CITY, [{"id": f"n{number}"}])
            if not calls:
                meanwhile()
            calls.append(number)

        repository.retry(count)
        assert calls == [3, 4]

    def test_an_operation_is_done_once(
        self, repository: Repository, reopened: Callable[[], Repository]
    ) -> None:
        """The same operation hash again gives the first commit, also by another handle."""
        commits = []
        for handle in (repository, repository, reopened()):
            with handle.transaction(operation_hash="load 1") as tx:
                tx.append(_CITY, [{"id": "c"}])
            commits.append(tx.commit)
        assert commits[0] is not None
        assert len({each.graph_commit_id for each in commits if each is not None}) == 1
        assert _ids(repository, _CITY) == ["c"]

    def test_the_past_can_be_read(self, repository: Repository) -> None:
        """By version, by commit, by moment; what never was is said to be unknown."""
        snapshots = []
        for number in range(3):
            with repository.transaction() as tx:
                tx.append(_CITY, [{"id": str(number)}])
            snapshots.append(repository.snapshot())
        for number, snapshot in enumerate(snapshots):
            assert snapshot.commit is not None
            for same in (
                repository.snapshot(version=snapshot.version),
                repository.snapshot(commit=snapshot.commit.graph_commit_id),
                repository.snapshot(as_of=snapshot.commit.created_at),
            ):
                assert same.read(_CITY).num_rows == number + 1
                assert same.tables == snapshot.tables
        first = repository.log()[-1].created_at
        with pytest.raises(UnknownVersion):
            repository.snapshot(as_of=first - timedelta(days=1))
        with pytest.raises(UnknownVersion):
            repository.snapshot(version=10_000)
        with pytest.raises(UnknownCommit):
            repository.snapshot(commit="nobody's")

    def test_the_batch_publisher(self, repository: Repository) -> None:
        """Expectations alone write nothing; what the catalog cannot take is refused."""
        version = repository.snapshot().tables[_CITY].table_version
        assert repository.publish([], expected_table_versions={_CITY: version}) is None
        with pytest.raises(ExpectedVersionMismatch):
            repository.publish([], expected_table_versions={_CITY: version + 1})
        for change in (
            TableUpdate(table_key=_CITY, table_version=version, row_count=0),
            TableUpdate(table_key="node:New", table_version=1, row_count=0),
            RegisterTable(table_key=_CITY, table_path="nodes/elsewhere"),
        ):
            with pytest.raises(InvalidChange):
                repository.publish([change])
        assert len(repository.log()) == 1
