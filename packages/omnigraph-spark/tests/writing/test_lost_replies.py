"""A commit whose reply is lost is found again by its name; what is told to have failed stays."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType
from spark_graph import PERSON, ids, person

from omnigraph_l1.failpoints import handling
from omnigraph_l2 import Repository
from omnigraph_l2.errors import CommitOutcomeUnknown
from omnigraph_spark._write import table_writer as under_test
from pyspark_omnigraph import DefaultSource

COLUMNS = pa.schema([("id", pa.string()), ("age", pa.int32())])


def plan(repo: Repository, **options: str) -> Any:
    """Plan a write as Spark does: what comes out travels as bytes."""
    given = {"path": repo.uri, "table": PERSON, **options}
    schema = StructType().add("id", "string").add("age", "integer")
    return pickle.loads(pickle.dumps(DefaultSource(given).writer(schema, overwrite=False)))


def written(writer: Any, *names: str) -> Any:
    """Write the rows of one task."""
    rows = [{"id": name, "age": 1} for name in names]
    return pickle.loads(pickle.dumps(writer.write(iter(_batches(rows)))))


def _batches(rows: list[dict[str, Any]]) -> list[pa.RecordBatch]:
    return pa.Table.from_pylist(rows, COLUMNS).to_batches()


@contextmanager
def lost(point: str, times: int) -> Iterator[list[str]]:
    """Lose the reply at a step of the publish, so often."""
    seen: list[str] = []

    def handler(name: str) -> None:
        if name == point and len(seen) < times:
            seen.append(name)
            raise CommitOutcomeUnknown(location="x", commit_id="y", detail="the reply was lost")

    with handling(handler):
        yield seen


@pytest.mark.parametrize("point", ["l2.publish.planned", "l2.publish.visible"])
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_it_is_published_once(
    repo: Repository, monkeypatch: pytest.MonkeyPatch, point: str, mode: str
) -> None:
    """Whether it had been published or not when the reply was lost."""
    monkeypatch.setattr(under_test, "_PAUSE_SECONDS", 0.0)
    writer = plan(repo, write_mode=mode)
    messages = [written(writer, "x"), written(writer), written(writer, "y")]
    with lost(point, 2) as seen:
        writer.commit(messages)
    assert seen
    assert ids(repo) == "a b x y"
    assert len(repo.log()) == 3


def test_what_cannot_be_found_out_is_told(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And ``abort``, which Spark calls then, takes nothing back."""
    monkeypatch.setattr(under_test, "_PAUSE_SECONDS", 0.0)
    writer = plan(repo)
    messages = [written(writer, "x")]
    with lost("l2.publish.planned", 1_000), pytest.raises(Exception, match="reply was lost"):
        writer.commit(messages)
    writer.abort(messages)
    assert ids(repo) == "a b"
    writer.commit(messages)
    writer.commit(messages)
    writer.abort(messages)
    assert ids(repo) == "a b x"


def test_planned_twice_under_one_name(repo: Repository) -> None:
    """The second job writes no file, where the first was done before it began; else no row."""
    first, second = (plan(repo, operation_hash="load") for _ in range(2))
    parts = [written(first, "x")], [written(second, "x")]
    first.commit(parts[0])
    second.commit(parts[1])
    third = plan(repo, operation_hash="load")
    third.commit([written(third, "x")])
    assert ids(repo) == "a b x"
    assert len(repo.log()) == 3


def test_what_others_do_between_planning_and_commit(repo: Repository) -> None:
    """A day may pass: the rows stand on what was planned, and what is there is checked."""
    writer = plan(repo, write_mode="upsert")
    parts = [written(writer, "a", "new")]
    with repo.transaction() as tx:
        tx.upsert(PERSON, [person("b", 7), person("c", 7)])
    writer.commit(parts)
    assert ids(repo) == "a b c new"
    late = plan(repo, write_mode="upsert")
    parts = [written(late, "a")]
    with repo.transaction() as tx:
        tx.upsert(PERSON, [person("a", 7)])
    with pytest.raises(Exception, match="expected_version_mismatch"):
        late.commit(parts)
