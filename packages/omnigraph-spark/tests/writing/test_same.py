"""What Spark writes is what L2 writes: over generated columns and values."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from sizes import sized

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2.errors import InvalidSchema
from omnigraph_spark import transaction
from omnigraph_spark._convert.batch_casts import cast_batch
from omnigraph_spark._convert.spark_types import arrow_schema, spark_schema
from omnigraph_spark.errors import InexactValue, UnsupportedTypes
from omnigraph_testing import strategies

pytestmark = pytest.mark.spark

THING = "node:Thing"
_EXAMPLES = sized(2, 60)


@settings(
    max_examples=_EXAMPLES,
    deadline=None,
    phases=[Phase.generate],  # each example is some jobs of Spark: to shrink one takes an hour
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_the_same_as_l2(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Append, upsert and delete, with nulls, extremes and empty partitions."""
    types = data.draw(st.lists(strategies.property_types(), min_size=1, max_size=6))
    declared = NodeType("Thing", {f"c{number}": type_ for number, type_ in enumerate(types)})
    columns = declared.arrow_schema
    try:
        between = arrow_schema(spark_schema(columns, table_key=THING))
    except UnsupportedTypes:
        assume(condition=False)
    first, second = (
        _named(data.draw(strategies.tables(columns, max_rows=6)), start) for start in (0, 3)
    )
    gone = first["id"].slice(0, 2).to_pylist()
    location = tmp_path_factory.mktemp("same")
    try:
        plain = Repository.init(
            location / "plain", GraphSchema(nodes=[declared]), durability="none"
        )
    except InvalidSchema:
        assume(condition=False)
    by_spark = Repository.init(location / "spark", GraphSchema(nodes=[declared]), durability="none")
    with plain, by_spark:
        frames = [_frame(spark, rows, between) for rows in (first, second)]
        with plain.transaction() as tx:
            tx.append(THING, first)
        with plain.transaction() as tx:
            tx.upsert(THING, second)
        with plain.transaction() as tx:
            tx.delete(THING, ids=gone)
        with transaction(spark, by_spark.uri, check=False) as tx:
            tx.append(THING, frames[0].repartition(3))
        writer = frames[1].write.format("omnigraph").option("table", THING)
        writer.option("write_mode", "upsert").mode("append").save(by_spark.uri)
        with transaction(spark, by_spark.uri) as tx:
            tx.delete(THING, frames[0].limit(0).union(frames[0].filter(frames[0].id.isin(gone))))
        wanted, found = (
            repo.snapshot().read(THING).sort_by("id").combine_chunks() for repo in (plain, by_spark)
        )
        assert found.schema == wanted.schema
        assert _told(found) == _told(wanted)


def _told(rows: pa.Table) -> list[str]:
    """Write values down to the last digit, also those that Python has no type for."""
    how = {"window": 1_000, "container_window": 1_000, "element_size_limit": 1_000_000}
    return [column.combine_chunks().to_string(**how) for column in rows.columns]


def _named(rows: pa.Table, start: int) -> pa.Table:
    """Give ids that L2 takes; what else it says of ids is tested there."""
    ids = [f"i{start + number} ☃" for number in range(len(rows))]
    return rows.set_column(0, rows.schema.field(0), pa.array(ids, pa.string()))


def _frame(spark: SparkSession, rows: pa.Table, between: pa.Schema) -> object:
    try:
        batches = [cast_batch(batch, between, table_key=THING) for batch in rows.to_batches()]
    except InexactValue:
        assume(condition=False)
    schema = spark_schema(rows.schema, table_key=THING)
    if not len(rows):
        return spark.createDataFrame([], schema)  # of an Arrow table without chunks it cannot
    # Nor of slices of some lists that have nulls: so what it is given is copied.
    whole = pa.Table.from_batches(batches, between).take(list(range(len(rows))))
    return spark.createDataFrame(whole, schema)
