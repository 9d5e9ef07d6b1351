"""A stream of changes tells what each commit changed, once, and the same when asked again."""

from __future__ import annotations

from datetime import datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from following import Following, changed
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from spark_graph import CITY, KNOWS, PERSON, SCHEMA, knows, made, person

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2.errors import NotOnBranch, SnapshotExpired, UnknownTable
from omnigraph_spark import cause_of
from omnigraph_spark.errors import InvalidOptions, StreamColumnsChanged
from pyspark_omnigraph import DefaultSource

Row = dict[str, Any]
TRANSPORTED = "omnigraph-error: "
"""What is in the text of an error from which ``cause_of`` restores it."""


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """Two people who know each other."""
    return made(tmp_path / "repo")


def publish(
    repo: Repository, *rows: Row, gone: str = "", key: str = PERSON, branch: str = "main"
) -> str:
    """Upsert rows, or delete them; give the id of the commit."""
    with repo.transaction(branch) as tx:
        if rows:
            tx.upsert(key, list(rows))
        if gone:
            tx.delete(key, ids=gone.split())
    assert tx.commit is not None
    return tx.commit.graph_commit_id


def history(repo: Repository) -> list[str]:
    """Make commits of each kind; give their ids."""
    publish(repo, gone="e", key=KNOWS)
    found = [
        publish(repo, person("c", 3), person("d", 4)),
        publish(repo, person("a", 9), person("f", 5)),
        publish(repo, {"id": "o"}, key=CITY),
        publish(repo, gone="b d"),
    ]
    repo.optimize()
    found.append(publish(repo, person("a", 10), gone="c"))
    return found


def told(repo: Repository, since: Any = None, key: str = PERSON) -> list[Row]:
    """Give what L2 tells of each commit."""
    found = []
    for each in repo.changes(since):
        if key in each.diff.after.tables or key in each.diff.before.tables:
            commit = each.commit
            stamp = {
                "commit": commit.graph_commit_id,
                "version": commit.manifest_version,
                "at": commit.created_at,
            }
            found += [stamp | row for row in each.diff.rows(key).read_all().to_pylist()]
    return found


def in_order(rows: list[Row]) -> list[Row]:
    """Sort rows: those of a batch come in no order."""
    return sorted(rows, key=lambda row: (row["version"], row["id"]))


def flat(batches: list[list[Row]]) -> list[Row]:
    """Put batches together."""
    return [row for batch in batches for row in batch]


def error_of(call: Any) -> Any:
    """Give the error of the graph that a call of Spark's ends with."""
    with pytest.raises(Exception, match=TRANSPORTED) as raised:
        call()
    return cause_of(raised.value)


@pytest.mark.parametrize("limit", [1, 3, 1_000])
def test_each_commit_from_the_first(repo: Repository, limit: int) -> None:
    """What L2 tells of every commit, in portions of any size."""
    history(repo)
    batches = Following(repo.uri, starting="earliest", max_commits_per_batch=limit).rest()
    assert in_order(flat(batches)) == in_order(told(repo))
    assert len(batches) == -(-len(list(repo.changes())) // limit)


def test_all_rows_and_then_each_commit(repo: Repository) -> None:
    """The first batch is a snapshot, as inserts of the commit that it shows."""
    history(repo)
    following = Following(repo.uri, starting="snapshot")
    (first,) = following.rest()
    head = repo.log(limit=1)[0]
    assert {row["commit"] for row in first} == {head.graph_commit_id}
    assert {row["change"] for row in first} == {"insert"}
    assert {row["at"] for row in first} == {head.created_at}
    wanted = repo.snapshot().read(PERSON).to_pylist()
    assert sorted(map(repr, (row["after"] for row in first))) == sorted(map(repr, wanted))
    publish(repo, person("g", 1))
    publish(repo, gone="g")
    assert [changed(batch) for batch in following.rest()] == [["delete g", "insert g"]]


def test_only_what_comes(repo: Repository) -> None:
    """``latest`` begins with the commit that is there, and reads nothing of it."""
    following = Following(repo.uri, starting="latest")
    assert following.rest() == [[]]
    publish(repo, person("c"))
    assert [changed(batch) for batch in following.rest()] == [["insert c"]]


def test_since(repo: Repository) -> None:
    """After a commit, a version or a tag."""
    made_ = history(repo)
    repo.tags.create("then", made_[0])
    version = repo.commit(made_[0]).manifest_version
    wanted = in_order(told(repo, made_[0]))
    assert wanted
    for since in (made_[0], "then", version):
        assert in_order(flat(Following(repo.uri, since=since).rest())) == wanted
    head = Following(repo.uri, since=made_[-1])
    assert head.rest() == []
    publish(repo, person("z"))
    assert [changed(batch) for batch in head.rest()] == [["insert z"]]
    side = repo.branches.create("side")
    assert side is not None
    other = publish(repo, person("s"), branch="side")
    assert isinstance(error_of(Following(repo.uri, since=other).batch), NotOnBranch)
    (found,) = Following(repo.uri, branch="side", since=made_[-1]).rest()
    assert changed(found) == ["insert s", "insert z"]


def test_batches_by_rows(repo: Repository) -> None:
    """No commit is torn, and a larger one is a batch alone."""
    since = repo.log(limit=1)[0].graph_commit_id
    for commit, size in enumerate((2, 1, 5, 1, 1)):
        publish(repo, *(person(f"p{commit}{number}") for number in range(size)))
        publish(repo, {"id": "o"}, key=CITY)
    found = Following(repo.uri, since=since, max_rows_per_batch=3).rest()
    assert [len(each) for each in found] == [3, 5, 2]
    following = Following(repo.uri, since=since, max_rows_per_batch=3)
    assert len(following.batch(ReadAllAvailable()) or ()) == 10
    following = Following(repo.uri, since=since)
    assert len(following.batch(ReadMaxRows(8)) or ()) == 8


def test_what_is_available_now(repo: Repository) -> None:
    """It ends with what was there when it began, in portions."""
    following = Following(repo.uri, starting="earliest", max_commits_per_batch=2)
    following.reader.prepareForTriggerAvailableNow()
    publish(repo, person("late"))
    rows = flat(following.rest())
    assert "late" not in {row["id"] for row in rows}
    assert changed(flat(Following(repo.uri, at=following.at, starting="earliest").rest())) == [
        "insert late"
    ]


@pytest.mark.parametrize("how", ["snapshot", "earliest", "latest", "since"])
def test_a_range_means_the_same_for_ever(repo: Repository, how: str) -> None:
    """For another process, after others have published, before the first batch was done."""
    commits = history(repo)
    options = {"since": commits[0]} if how == "since" else {"starting": how}
    first = Following(repo.uri, **options)
    start = first.at
    wanted = first.batch()
    assert wanted is not None
    publish(repo, person("late"), gone="a")
    again = Following(repo.uri, **options)
    assert again.at == start == {"commit": "", "table": PERSON}
    assert in_order(again.between(start, first.at)) == in_order(wanted)
    assert again.between(first.at, first.at) == []
    first.reader.latestOffset(start if how == "earliest" else first.at, ReadAllAvailable())
    assert in_order(first.between(start, first.at)) == in_order(wanted)
    if how != "latest":
        other = {"commit": "0" * 26, "table": PERSON}
        assert error_of(lambda: again.between(first.at, other)) is not None


def test_some_columns(repo: Repository) -> None:
    """The rows have these and no others; changes of others are told all the same."""
    publish(repo, {"id": "a", "name": "Ann"})
    following = Following(repo.uri, starting="earliest", columns="age")
    rows = flat(following.rest())
    assert changed(rows) == ["insert a", "insert b", "update a"]
    assert {repr(row["after"]) for row in rows} == {"{'age': 1}", "{'age': 2}"}
    repo.evolve(_with(name=pa.string(), age=pa.int32(), nick=pa.string()))
    publish(repo, {"id": "a", "nick": "n"})
    assert changed(flat(following.rest())) == ["update a"]


def test_columns_of_older_commits(repo: Repository) -> None:
    """What they lack is null, and what was of another type; what is gone since is left out."""
    repo.evolve(_with(name=pa.string()))
    repo.evolve(_with(age=pa.string(), nick=pa.string()))
    publish(repo, {"id": "c", "age": "old", "nick": "n"})
    rows = flat(Following(repo.uri, starting="earliest").rest())
    afters = [(row["change"], row["after"]) for row in rows if row["id"] == "a"]
    assert afters[0] == ("insert", {"id": "a", "age": None, "nick": None})
    assert rows[-1]["after"] == {"id": "c", "age": "old", "nick": "n"}


def test_columns_of_newer_commits(repo: Repository) -> None:
    """They stop the stream; begun again where it was, it has them."""
    following = Following(repo.uri, starting="snapshot")
    following.rest()
    start = following.at
    publish(repo, person("c", 3))
    repo.evolve(_with(name=pa.string()))
    repo.evolve(_with(name=pa.string(), age=pa.string(), nick=pa.string()))
    commit = publish(repo, {"id": "d", "nick": "n"})
    for _ in range(2):
        following.at = start
        error = error_of(following.batch)
        assert isinstance(error, StreamColumnsChanged)
        assert error.table_key == PERSON
        assert {part in str(error) for part in ("'nick'", "'age'")} == {True}
    again = Following(repo.uri, at=start, starting="snapshot")
    rows = flat(again.rest())
    assert in_order(rows)[-1]["commit"] == commit
    assert {row["id"] for row in rows} >= {"c", "d"}
    assert next(row for row in rows if row["id"] == "d")["after"]["nick"] == "n"


def test_a_table_that_goes_and_comes(repo: Repository) -> None:
    """It is followed as long as the stream is; where it is not, nothing changes."""
    following = Following(repo.uri, starting="snapshot", table=KNOWS)
    following.rest()
    repo.evolve(GraphSchema(nodes=SCHEMA.nodes))
    publish(repo, person("c"))
    repo.evolve(SCHEMA)
    publish(repo, knows("k", "a", "c"), key=KNOWS)
    assert changed(flat(following.rest())) == ["delete e", "insert k"]
    assert isinstance(
        error_of(lambda: Following(repo.uri, starting="latest", table="node:Nobody")), UnknownTable
    )


def test_every_type(tmp_path: Path) -> None:
    """As reading has them in Spark, nested ones and those of other widths, too."""
    types = {
        "big": pa.uint64(),
        "price": pa.decimal128(10, 2),
        "vector": pa.list_(pa.float32(), 2),
        "tags": pa.list_(pa.string()),
        "place": pa.struct([("x", pa.int8()), ("y", pa.uint16())]),
        "seen": pa.timestamp("ns", "Europe/Oslo"),
        "clock": pa.time64("us"),
        "raw": pa.binary(),
    }
    seen = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc)
    row = {
        "id": "a", "big": 2**64 - 1, "price": Decimal("1.50"), "vector": [0.5, 1.5],
        "tags": ["x", None], "place": {"x": -1, "y": 65535}, "seen": seen,
        "clock": time(1, 2, 3, 4),
        "raw": b"\x00",
    }  # fmt: skip
    schema = GraphSchema(nodes=[NodeType("Thing", types)])
    with Repository.init(tmp_path / "types", schema, durability="none") as repo:
        publish(repo, row, dict.fromkeys(row) | {"id": "b"}, key="node:Thing")
        publish(repo, {"id": "a", "big": 1}, gone="b", key="node:Thing")
        found = in_order(flat(Following(repo.uri, starting="earliest", table="node:Thing").rest()))
    assert [each["change"] for each in found] == ["insert", "insert", "update", "delete"]
    assert found[0]["after"] == row | {"big": Decimal(2**64 - 1)}
    assert found[2]["before"] == found[0]["after"]
    assert found[2]["after"] == row | {"big": Decimal(1)}
    assert (found[1]["before"], found[3]["after"]) == (None, None)


def test_what_tasks_there_are(repo: Repository) -> None:
    """Many small commits are few tasks; one that only adds much is many."""
    since = repo.log(limit=1)[0].graph_commit_id
    for number in range(70):
        publish(repo, person(f"p{number}"))
    publish(repo, *(person(f"q{number}") for number in range(100)))
    options = {"since": since, "partition_rows": 50}
    following = Following(repo.uri, **options)
    end = following.reader.latestOffset(following.at, ReadAllAvailable())
    tasks = following.reader.partitions(following.at, end)
    assert 2 < len(tasks) < 10  # a compaction among them may be counted twice
    assert len(following.between(following.at, end)) == 170


@pytest.mark.parametrize("how", ["snapshot", "earliest"])
def test_no_cleanup_takes_what_a_batch_reads(
    repo: Repository, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """From its planning to its end; nobody else keeps it."""
    monkeypatch.setattr("omnigraph_l2._commit.leases.SHORT_READ_SECONDS", 0.0)
    with Repository.open(repo.uri) as other:
        repo.close()
        following = Following(repo.uri, starting=how)
        end = following.reader.latestOffset(following.at, ReadAllAvailable())
        (task,) = following.reader.partitions(following.at, end)
        publish(other, gone="e", key=KNOWS)
        publish(other, person("a", 7), gone="b")
        other.optimize()
        following.reader.reportLatestOffset()
        following.reader._follower._open()._leases.renew()  # as is done while a batch is long
        other.cleanup(timedelta(0), dry_run=False)
        assert sum(len(batch) for batch in following.reader.read(task)) == 2
        now = following.reader.reportLatestOffset()
        assert following.reader.latestOffset(now, ReadAllAvailable()) == now  # nothing is left
        following.reader._follower._open()._leases.renew()
        other.cleanup(timedelta(0), dry_run=False)
        with pytest.raises(Exception, match=TRANSPORTED) as raised:
            list(following.reader.read(task))
        assert isinstance(cause_of(raised.value), SnapshotExpired)


def test_what_was_cleaned_up(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that comes too late is told: nothing is passed over."""
    monkeypatch.setattr("omnigraph_l2._commit.leases.SHORT_READ_SECONDS", 0.0)
    following = Following(repo.uri, starting="snapshot")
    following.rest()
    following.reader.stop()
    for number in range(3):
        publish(repo, person("a", number))
    with Repository.open(repo.uri) as other:
        repo.close()
        other.cleanup(timedelta(0), dry_run=False)
    assert isinstance(error_of(following.batch), SnapshotExpired)


def test_a_checkpoint_of_another_table(repo: Repository) -> None:
    """Changes of a table that nobody has read are not skipped where another one was followed."""
    following = Following(repo.uri, starting="earliest")
    following.rest()
    other = Following(repo.uri, at=following.at, table=CITY, starting="earliest")
    error = error_of(other.batch)
    assert isinstance(error, InvalidOptions)
    assert "'table' is node:City, and the checkpoint is that of a stream of node:Person" in str(
        error
    )


def test_options_that_are_wrong(repo: Repository) -> None:
    """Every problem is told; a batch has none of these options, a stream has one of them."""
    wrong = {"starting": "yesterday", "max_commits_per_batch": 0, "columns": "", "as_of": "x"}
    error = error_of(lambda: Following(repo.uri, since="v", max_rows_per_batch="many", **wrong))
    assert isinstance(error, InvalidOptions)
    for part in (
        "invalid 'starting'", "invalid 'max_commits_per_batch'", "invalid 'max_rows_per_batch'",
        "'columns' is empty", "unknown option 'as_of'", "'since' and 'starting'",
        "'max_commits_per_batch' and 'max_rows_per_batch'",
    ):  # fmt: skip
        assert part in str(error)
    batch = DefaultSource({"path": repo.uri, "table": PERSON})
    assert "'starting'" in str(error_of(lambda: batch.streamReader(batch.schema())))
    stream = Following(repo.uri, starting="latest").source
    assert "unknown option 'starting'" in str(error_of(lambda: stream.reader(stream.schema())))
    assert "leave .schema" in str(error_of(lambda: stream.streamReader(batch.schema())))
    unknown = error_of(lambda: Following(repo.uri, starting="latest", columns="nick"))
    assert "nick" in str(unknown)
    elsewhere = Following(repo.uri, at={"commit": "0" * 26, "table": PERSON}, starting="latest")
    assert error_of(elsewhere.batch) is not None


def _with(**properties: pa.DataType) -> GraphSchema:
    nodes = [NodeType("Person", properties), NodeType("City")]
    return GraphSchema(nodes=nodes, edges=SCHEMA.edges)
