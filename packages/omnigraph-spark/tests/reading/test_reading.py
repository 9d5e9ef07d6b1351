"""What Spark reads is what omnigraph_l2 reads, at one moment for ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql.types import StructType
from reading import as_spark_has_it, load, rows
from sizes import sized

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_testing.strategies import batches, property_types, schemas

EXAMPLES = sized(3, 60)
PERSON, KNOWS = "node:Person", "edge:Knows"


def add(repo: Repository, *ids: str, branch: str = "main") -> None:
    """Publish people."""
    with repo.transaction(branch) as tx:
        tx.append(PERSON, [{"id": each} for each in ids])


def test_every_moment_is_what_the_snapshot_has(
    spark: SparkSession, omnigraph_repo: Repository
) -> None:
    """By branch, version, commit, time and tag; all in one query."""
    repo = omnigraph_repo
    first = repo.snapshot().commit
    assert first is not None
    repo.branches.create("side")
    add(repo, "x", branch="side")
    repo.tags.create("then", first.graph_commit_id)
    add(repo, "y", "z")
    moments: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"branch": "side"}, {"branch": "side"}),
        ({"version": first.manifest_version}, {"version": first.manifest_version}),
        ({"commit": first.graph_commit_id}, {"commit": first.graph_commit_id}),
        ({"as_of": first.created_at.isoformat()}, {"as_of": first.created_at}),
        ({"tag": "then"}, {"tag": "then"}),
    ]
    frames = [
        load(spark, repo, PERSON, **options).withColumn("moment", F.lit(number))
        for number, (options, _) in enumerate(moments)
    ]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame)
    for number, (_, named) in enumerate(moments):
        wanted = rows(repo.snapshot(**named).read(PERSON))
        assert len(wanted) == {0: 5, 1: 4}.get(number, 3)
    tables = whole.groupBy("moment").agg(F.sort_array(F.collect_list("id")).alias("ids")).collect()
    assert {row.moment: row.ids for row in tables} == {
        number: sorted(repo.snapshot(**named).read(PERSON)["id"].to_pylist())
        for number, (_, named) in enumerate(moments)
    }


def test_projections_and_counts(spark: SparkSession, omnigraph_repo: Repository) -> None:
    """By option or by schema, in that order of columns; none at all still counts."""
    repo = omnigraph_repo
    wanted = rows(repo.snapshot().read(PERSON, ["age", "id"]))
    by_option = load(spark, repo, PERSON, columns="age, id")
    assert by_option.columns == ["age", "id"]
    assert rows(by_option) == wanted
    assert rows(load(spark, repo, PERSON, columns='["age", "id"]')) == wanted
    assert rows(load(spark, repo, PERSON, schema="age int, id string")) == wanted
    assert load(spark, repo, PERSON, columns="").count() == 3
    assert load(spark, repo, PERSON, schema=StructType([])).count() == 3
    assert rows(load(spark, repo, PERSON, filter="age > 10", columns="id")) == [{"id": "ann"}]


def test_one_moment_for_ever(spark: SparkSession, omnigraph_repo: Repository) -> None:
    """Two actions and a self-join show one snapshot, whatever is published between them."""
    repo = omnigraph_repo
    frame = load(spark, repo, PERSON)
    typed = load(spark, repo, PERSON, schema="id string")
    untouched = load(spark, repo, PERSON)
    assert frame.count() == typed.count() == 3
    add(repo, "late")
    assert frame.count() == typed.count() == untouched.count() == 3
    other = frame.select(F.col("id").alias("other"))
    add(repo, "later")
    assert frame.join(other, F.col("id") == F.col("other")).count() == 3
    assert load(spark, repo, PERSON).count() == 5


def test_small_fragments_together_and_large_ones_apart(
    spark: SparkSession, omnigraph_repo: Repository
) -> None:
    """However the table is cut, each row comes once, also after deletes and with a filter."""
    repo = omnigraph_repo
    add(repo, *(f"many{number}" for number in range(50)))
    for number in range(4):
        add(repo, f"one{number}")
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=["many3", "one1", "eve"])
    wanted = rows(repo.snapshot().read(PERSON))
    whole = load(spark, repo, PERSON)
    assert whole.rdd.getNumPartitions() == 1
    assert rows(whole) == wanted
    cut = load(spark, repo, PERSON, partition_rows=10)
    assert cut.rdd.getNumPartitions() > 5
    assert rows(cut) == wanted
    some = load(spark, repo, PERSON, partition_rows=10, filter="id LIKE 'o%' OR id LIKE '%4'")
    assert rows(some) == rows(repo.snapshot().read(PERSON, filter="id LIKE 'o%' OR id LIKE '%4'"))


def test_an_empty_table(spark: SparkSession, tmp_path: Path) -> None:
    """It has columns and no rows."""
    schema = GraphSchema(nodes=[NodeType("Person", {"age": pa.int32()})])
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        frame = load(spark, repo, PERSON)
        assert (frame.columns, frame.count(), frame.collect()) == (["id", "age"], 0, [])


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A location for each example."""
    root = tmp_path_factory.mktemp("examples")
    return (root / f"repo-{number}" for number in range(1_000_000))


# Spark's spans are shorter; see the tests of types for what is refused.
HELD = property_types().filter(lambda found: "duration[s]" not in str(found))
HELD = HELD.filter(lambda found: "duration[ms]" not in str(found))


def with_ids(batch: pa.RecordBatch, start: str) -> pa.RecordBatch:
    """Give rows ids that are good and new."""
    ids = pa.array([f"{start}{number}" for number in range(len(batch))], pa.string())
    return batch.set_column(0, batch.schema.field("id"), ids)


@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # each example is a job of Spark's
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_every_table_reads_as_it_does_there(
    spark: SparkSession, places: Iterator[Path], data: st.DataObject
) -> None:
    """Of generated schemas and rows, in several commits, cut into several partitions."""
    schema = data.draw(schemas("node", types=HELD))
    drawn = data.draw(st.lists(batches(schema, max_rows=6), min_size=1, max_size=2))
    parts = [with_ids(part, f"part{number}-") for number, part in enumerate(drawn)]
    fields = [field for field in schema if field.name != "id"]
    declared = NodeType(
        "Thing",
        {field.name: field.type for field in fields},
        required=[field.name for field in fields if not field.nullable],
    )
    with Repository.init(next(places), GraphSchema(nodes=[declared]), durability="none") as repo:
        for part in parts:
            with repo.transaction() as tx:
                tx.append("node:Thing", part)
        wanted = as_spark_has_it(repo.snapshot().read("node:Thing"))
        found = load(spark, repo, "node:Thing", partition_rows=3).toArrow()
    assert found.schema.names == wanted.schema.names
    assert [field.type for field in found.schema] == [field.type for field in wanted.schema]
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, wanted.to_pylist()))
