"""Many tables from data frames, one publish, checked as L2 checks."""

# ruff: noqa: PT012 - a transaction ends where its block does

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from spark_graph import CITY, KNOWS, PERSON, everything, frame, ids, knows, person

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2.errors import (
    DanglingEdges,
    DuplicateIds,
    ExpectedVersionMismatch,
    InvalidData,
    InvalidRequest,
    OmniGraphError,
    TransactionClosed,
    UnknownTable,
)
from omnigraph_spark import SparkTransaction, transaction
from omnigraph_spark._write import row_locations as locating
from omnigraph_spark.errors import NotASession

pytestmark = pytest.mark.spark


def test_nodes_and_edges_become_visible_together(spark: SparkSession, repo: Repository) -> None:
    """One commit, with who did it and why; rows come from several partitions."""
    people = frame(spark, [person(f"p{each}", each) for each in range(50)]).repartition(3)
    edges = frame(spark, [knows(f"k{each}", f"p{each}", "a") for each in range(50)])
    with transaction(spark, repo.uri, actor="ann", message="load") as tx:
        tx.append(PERSON, people)
        tx.append(KNOWS, edges)
        tx.append(KNOWS, frame(spark, [knows("last", "b", "p0")]))
        assert ids(repo) == "a b"
    assert tx.commit == repo.log(limit=1)[0]
    assert (tx.commit.actor_id, tx.commit.message) == ("ann", "load")
    assert len(everything(repo)) == 52
    assert len(everything(repo, KNOWS)) == 52
    assert everything(repo)["p7"] == person("p7", 7)


@pytest.mark.parametrize("joined", [False, True])
def test_upsert_delete_and_overwrite(
    spark: SparkSession, repo: Repository, monkeypatch: pytest.MonkeyPatch, *, joined: bool
) -> None:
    """As in a transaction of L2: what is not given is kept, what is not there is passed over.

    So it is also where tables are so large that rows are found by a join.
    """
    if joined:
        monkeypatch.setattr(locating, "_ROWS_LOOKED_UP", 0)
    with transaction(spark, repo.uri) as tx:
        tx.overwrite(CITY, spark.createDataFrame([["x"], ["y"]], "id string"))
        tx.upsert(PERSON, frame(spark, [{"id": "a", "age": 9}, {"id": "c", "age": 3}]))
        tx.delete(KNOWS, spark.createDataFrame([["e"], ["no"], ["e"]], "id string"))
    assert everything(repo) == {
        "a": person("a", 9), "b": person("b", 2), "c": {"id": "c", "name": None, "age": 3},
    }  # fmt: skip
    assert (ids(repo, CITY), ids(repo, KNOWS)) == ("x y", "")
    with transaction(spark, repo.uri) as tx:
        tx.delete(PERSON, frame(spark, [person("b")]))
    assert ids(repo) == "a c"


_EMPTY = "id string, name string, age int"

WRONG: dict[str, tuple[type[OmniGraphError], str, Callable[[SparkSession, SparkTransaction], Any]]]
WRONG = {
    "an id twice": (
        DuplicateIds, "'x'",
        lambda spark, tx: tx.append(PERSON, frame(spark, [person("x")] * 2).repartition(2)),
    ),
    "an id that is there": (
        DuplicateIds, "'b'", lambda spark, tx: tx.append(PERSON, frame(spark, [person("b")])),
    ),
    "an id twice in an upsert": (
        InvalidData, "'a'",
        lambda spark, tx: tx.upsert(PERSON, frame(spark, [person("a", 1), person("a", 2)])),
    ),
    "a new id twice in an upsert": (
        DuplicateIds, "'x'",
        lambda spark, tx: tx.upsert(PERSON, frame(spark, [person("x", 1), person("x", 2)])),
    ),
    "an edge to nowhere": (
        DanglingEdges, "'no'",
        lambda spark, tx: tx.append(KNOWS, frame(spark, [knows("f", "a", "no")])),
    ),
    "an edge from nowhere": (
        DanglingEdges, "'no'",
        lambda spark, tx: tx.upsert(KNOWS, frame(spark, [knows("e", "no", "a")])),
    ),
    "a node that is needed": (
        DanglingEdges, "'b'", lambda spark, tx: tx.delete(PERSON, frame(spark, [person("b")])),
    ),
    "a node replaced away": (
        DanglingEdges, "'a'", lambda spark, tx: tx.overwrite(PERSON, frame(spark, [person("b")])),
    ),
    "columns": (
        InvalidData, "more",
        lambda spark, tx: tx.append(
            PERSON, spark.createDataFrame([["x", 1]], "id string, more int")
        ),
    ),
    "a null id": (
        InvalidData, "null",
        lambda spark, tx: tx.append(PERSON, spark.createDataFrame([[None, "x", 1]], _EMPTY)),
    ),
    "a number that is too large": (
        InvalidData, "age",
        lambda spark, tx: tx.append(
            PERSON, spark.createDataFrame([["x", 2**40]], "id string, age long")
        ),
    ),
    "another table": (
        UnknownTable, "node:No", lambda spark, tx: tx.append("node:No", frame(spark, [])),
    ),
    "deleting by nothing": (
        InvalidRequest, "the column id",
        lambda spark, tx: tx.delete(PERSON, frame(spark, [person("b")]).select("name")),
    ),
    "twice one table": (
        InvalidRequest, "after upsert",
        lambda spark, tx: (
            tx.upsert(PERSON, frame(spark, [person("x")])),
            tx.delete(PERSON, frame(spark, [person("x")])),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "words", "wrong"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_as_l2_tells_it(
    spark: SparkSession,
    repo: Repository,
    kind: type[OmniGraphError],
    words: str,
    wrong: Callable[[SparkSession, SparkTransaction], Any],
) -> None:
    """A typed error on the driver, also where a task found it; nothing is published."""
    before = repo.snapshot().version
    with pytest.raises(kind, match=words), transaction(spark, repo.uri) as tx:
        wrong(spark, tx)
    assert repo.snapshot().version == before


def test_what_others_published_meanwhile(spark: SparkSession, repo: Repository) -> None:
    """The checks were made before; it counts what is there when it is published."""
    new = frame(spark, [person("new")])
    with pytest.raises(DuplicateIds, match="'new'"), transaction(spark, repo.uri) as tx:
        tx.append(PERSON, new)
        with repo.transaction() as other:
            other.append(PERSON, [person("new"), person("c")])
    with pytest.raises(DanglingEdges, match="'c'"), transaction(spark, repo.uri) as tx:
        tx.append(KNOWS, frame(spark, [knows("f", "a", "c")]))
        with repo.transaction() as other:
            other.delete(PERSON, ids=["c"])
    with pytest.raises(ExpectedVersionMismatch), transaction(spark, repo.uri) as tx:
        tx.upsert(PERSON, frame(spark, [person("a", 9)]))
        with repo.transaction() as other:
            other.upsert(PERSON, [person("a", 8)])
    with transaction(spark, repo.uri) as tx:
        tx.append(PERSON, frame(spark, [person("mine")]))
        with repo.transaction() as other:
            other.append(PERSON, [person("theirs")])
    assert ids(repo) == "a b mine new theirs"


@pytest.mark.parametrize("joined", [False, True])
def test_ids_are_what_their_letters_are(
    spark: SparkSession, repo: Repository, monkeypatch: pytest.MonkeyPatch, *, joined: bool
) -> None:
    """Whatever a frame says of collations, and whatever Spark makes of an id by hashing it."""
    if joined:
        monkeypatch.setattr(locating, "_ROWS_LOOKED_UP", 0)
    lower = F.collate(F.col("id"), "UTF8_LCASE").alias("id")
    worst = "G5XYLGj4"  # whose hash in Spark has no absolute value
    some = frame(spark, [person(each) for each in ("A", "b", "B", worst)])
    with transaction(spark, repo.uri) as tx:
        tx.upsert(PERSON, some.select(lower, "age"))
    assert ids(repo) == f"A B {worst} a b"
    with transaction(spark, repo.uri) as tx:
        tx.delete(KNOWS, spark.createDataFrame([["e"]], "id string"))
        tx.delete(PERSON, some.select(lower))
    assert ids(repo) == "a"


def test_no_property_is_taken_for_something_else(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is called; what deals rows out to tasks has a name that no property has."""
    monkeypatch.setattr(locating, "_ROWS_LOOKED_UP", 0)
    names = ("_omnigraph_group", "_omnigraph_group_", "_omnigraph")
    things = NodeType("Thing", {name: pa.int64() for name in names})
    before, after = ({"id": "a", **dict.fromkeys(names, number)} for number in (1, 2))
    with Repository.init(tmp_path / "things", GraphSchema(nodes=[things])) as graph:
        with graph.transaction() as tx:
            tx.append("node:Thing", [before])
        rows = spark.createDataFrame([tuple(after.values())], ["id", *names])
        with transaction(spark, graph.uri) as tx:
            tx.upsert("node:Thing", rows)
        assert graph.snapshot().read("node:Thing").to_pylist() == [after]


def test_of_two_that_upsert_one_new_id_one_has_lost_a_race(
    spark: SparkSession, repo: Repository
) -> None:
    """Run again, it replaces the row."""
    with pytest.raises(ExpectedVersionMismatch), transaction(spark, repo.uri) as tx:
        tx.upsert(PERSON, frame(spark, [person("new", 1)]))
        with repo.transaction() as other:
            other.upsert(PERSON, [person("new", 2)])
    assert everything(repo)["new"]["age"] == 2


def test_unchecked(spark: SparkSession, repo: Repository) -> None:
    """Then it is the caller's word."""
    with transaction(spark, repo.uri, check=False) as tx:
        tx.append(KNOWS, frame(spark, [knows("f", "a", "no")]))
    assert ids(repo, KNOWS) == "e f"


def test_an_operation_is_done_once(spark: SparkSession, repo: Repository) -> None:
    """The second time nothing is run, and the first commit comes back."""
    commits = []
    for _ in range(2):
        with transaction(spark, repo.uri, operation_hash="load 1") as tx:
            tx.append(PERSON, frame(spark, [person("x")]))
            repeat = tx.is_repeat
        commits.append((tx.commit, repeat))
    assert [repeat for _, repeat in commits] == [False, True]
    assert commits[0][0] == commits[1][0]


def test_on_a_branch(spark: SparkSession, repo: Repository) -> None:
    """Main is as it was."""
    repo.branches.create("side")
    with transaction(spark, repo.uri, branch="side") as tx:
        assert tx.snapshot.branch == "side"
        tx.upsert(PERSON, frame(spark, [person("a", 9), person("c")]))
    assert (ids(repo), ids(repo, branch="side")) == ("a b", "a b c")


def test_expecting(spark: SparkSession, repo: Repository) -> None:
    """A table that is only read must be as it was."""
    with pytest.raises(ExpectedVersionMismatch), transaction(spark, repo.uri) as tx:
        tx.expect(CITY)
        tx.append(PERSON, frame(spark, [person("x")]))
        with repo.transaction() as other:
            other.append(CITY, [{"id": "c"}])


def test_an_exception_publishes_nothing(spark: SparkSession, repo: Repository) -> None:
    """And a transaction that is not open does nothing."""
    with pytest.raises(KeyError), transaction(spark, repo.uri) as tx:
        tx.append(PERSON, frame(spark, [person("x")]))
        raise KeyError
    assert ids(repo) == "a b"
    with pytest.raises(TransactionClosed):
        tx.append(PERSON, frame(spark, [person("x")]))
    with pytest.raises(NotASession):
        transaction("spark", repo.uri)  # type: ignore[arg-type]


def test_no_rows(spark: SparkSession, repo: Repository) -> None:
    """Empty data frames, and empty partitions, change nothing."""
    none = spark.createDataFrame([], _EMPTY)
    with transaction(spark, repo.uri) as tx:
        tx.append(PERSON, none)
        tx.delete(KNOWS, none)
        tx.upsert(CITY, none.select("id"))
    assert tx.commit is None
    with transaction(spark, repo.uri) as tx:
        tx.append(PERSON, frame(spark, [person("x")]).repartition(7))
    assert ids(repo) == "a b x"
