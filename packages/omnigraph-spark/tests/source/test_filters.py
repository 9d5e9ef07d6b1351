"""Lance is given filters that keep what Spark would keep, compared with Spark's own evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import datasource as pushed
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from reading import load, rows
from sizes import sized

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_spark._read.filter_pushdown import push_filters

EXAMPLES = sized(3, 40)
THING = "node:Thing"
NAN, INFINITE = float("nan"), float("inf")
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (
        pa.string(),
        [None, "", "a", "A", "a'b", "''", '"', "a%", "a_b", "aXb", "\\", "a\\%", "é", "e\u0301",
         "\U0001f600", "\uffff", "ß", " a ", "ab", "`", "--", "a\nb", "İ"],
    ),
    "number": (pa.int32(), [None, 0, 1, -1, 7, 2**31 - 1, -(2**31)]),
    "tiny": (pa.uint8(), [None, 0, 1, 255]),
    "long": (pa.int64(), [None, 0, 2**63 - 1, -(2**63), 2**53 + 1]),
    "huge": (pa.uint64(), [None, 0, 2**63, 2**64 - 1, 5]),
    "share": (pa.float64(), [None, 0.0, -0.0, 1.5, -1.5, NAN, -NAN, INFINITE, -INFINITE, 5e-324]),
    "ratio": (pa.float32(), [None, 0.0, -0.0, 0.1, NAN, INFINITE, 1.5]),
    "flag": (pa.bool_(), [None, True, False]),
    "day": (pa.date32(), [None, date(1970, 1, 1), date(1000, 1, 1), date(9999, 12, 31)]),
    "price": (pa.decimal128(20, 2), [None, Decimal("0.00"), Decimal("0.10"), Decimal("-9.99")]),
    "at": (pa.timestamp("us", "UTC"), [None, datetime(2026, 1, 1, tzinfo=timezone.utc)]),
    "tags": (pa.list_(pa.string()), [None, [], ["a"]]),
}  # fmt: skip
COMPARED = {
    pushed.EqualTo: Column.__eq__,
    pushed.EqualNullSafe: Column.eqNullSafe,
    pushed.GreaterThan: Column.__gt__,
    pushed.GreaterThanOrEqual: Column.__ge__,
    pushed.LessThan: Column.__lt__,
    pushed.LessThanOrEqual: Column.__le__,
}
ALWAYS = [kind(("share",), value) for kind in COMPARED for value in (1.5, -1.5, INFINITE)]
"""What chance would rarely ask of a NaN with a sign."""
TEXT = {
    pushed.StringStartsWith: Column.startswith,
    pushed.StringEndsWith: Column.endswith,
    pushed.StringContains: Column.contains,
}


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A table with each awkward value in some row, an index over text and one over numbers."""
    types = {name: type_ for name, (type_, _) in VALUES.items()}
    declared = NodeType("Thing", types, indexes={"text": "btree", "number": "btree"})
    location = tmp_path_factory.mktemp("things") / "repo"
    longest = max(len(values) for _, values in VALUES.values())
    columns = {
        name: pa.array([values[row % len(values)] for row in range(longest)], type_)
        for name, (type_, values) in VALUES.items()
    }
    with Repository.init(location, GraphSchema(nodes=[declared]), durability="none") as repo:
        for start in ("a", "b"):
            with repo.transaction() as tx:
                ids = pa.array([f"{start}{row}" for row in range(longest)])
                tx.append(THING, pa.table({"id": ids, **columns}))
            repo.optimize()
        yield repo


@pytest.fixture(scope="module")
def frame(spark: SparkSession, things: Repository) -> DataFrame:
    """The same table, in Spark's hands, without any pushdown."""
    return load(spark, things, THING).cache()


def filters() -> st.SearchStrategy[pushed.Filter]:
    """Any filter that Spark could push, with values that are in the table and some that are not."""
    column = st.sampled_from([name for name in VALUES if name not in {"tags", "huge", "at"}])
    compared = column.flatmap(
        lambda name: st.builds(
            lambda kind, value: kind((name,), value), st.sampled_from(list(COMPARED)), given_(name)
        )
    )
    many = column.flatmap(
        lambda name: st.lists(given_(name) | st.none(), min_size=1, max_size=4).map(
            lambda values: pushed.In((name,), tuple(values))
        )
    )
    text = st.builds(
        lambda kind, value: kind(("text",), value), st.sampled_from(list(TEXT)), given_("text")
    )
    nulls = st.builds(
        lambda kind, name: kind((name,)),
        st.sampled_from([pushed.IsNull, pushed.IsNotNull]),
        st.sampled_from(list(VALUES)),
    )
    plain = compared | many | text | nulls
    return plain | plain.map(pushed.Not)


def given_(name: str) -> st.SearchStrategy[Any]:
    """Give values for a column: those in it, and parts of text."""
    known = [value for value in VALUES[name][1] if value is not None]
    more = st.text(max_size=2) if name == "text" else st.nothing()
    return st.sampled_from(known) | more


def as_column(filter_: pushed.Filter) -> Column:
    """Say the same to Spark."""
    if isinstance(filter_, pushed.Not):
        return ~as_column(filter_.child)
    name = filter_.attribute[0]  # type: ignore[attr-defined]
    column = F.col(name)
    if isinstance(filter_, pushed.IsNull):
        return column.isNull()
    if isinstance(filter_, pushed.IsNotNull):
        return column.isNotNull()
    if isinstance(filter_, pushed.In):
        return column.isin([typed(name, value) for value in filter_.value])
    kinds: dict[Any, Any] = {**COMPARED, **TEXT}
    made: Column = kinds[type(filter_)](column, typed(name, filter_.value))  # type: ignore[attr-defined]
    return made


def typed(name: str, value: Any) -> Column:
    """Give a literal of the column's type, as Spark's analysis would."""
    types = {"ratio": "float", "number": "int", "tiny": "smallint", "price": "decimal(20,2)"}
    return F.lit(value).cast(types[name]) if name in types else F.lit(value)


def as_pushed(filter_: pushed.Filter) -> pushed.Filter:
    """Give values as Spark's planner hands them over: floats of 32 bits are rounded."""
    if isinstance(filter_, pushed.Not):
        return pushed.Not(as_pushed(filter_.child))
    value = getattr(filter_, "value", None)
    if getattr(filter_, "attribute", None) == ("ratio",) and isinstance(value, float):
        return type(filter_)(("ratio",), pa.scalar(value, pa.float32()).as_py())  # type: ignore[call-arg]
    return filter_


@given(st.lists(filters(), min_size=40, max_size=60))
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_lance_keeps_what_spark_keeps(
    things: Repository, frame: DataFrame, drawn: list[pushed.Filter]
) -> None:
    """The very same rows where nothing is left to Spark; never fewer."""
    drawn = [*drawn, *ALWAYS]
    flags = [as_column(each).alias(f"f{number}") for number, each in enumerate(drawn)]
    kept = frame.select("id", *flags).toArrow()
    snapshot = things.snapshot()
    schema = snapshot.dataset(THING).schema
    for number, each in enumerate(map(as_pushed, drawn)):
        told = push_filters([each], schema)
        if told.sql is None:
            assert told.left == (each,)
            continue
        wanted = {row["id"] for row in kept.to_pylist() if row[f"f{number}"]}
        found = set(snapshot.read(THING, ["id"], told.sql)["id"].to_pylist())
        assert wanted <= found if told.left else wanted == found, (each, told.sql)


SAID = [
    (pushed.EqualTo(("id",), "a'b"), "(`id` = 'a''b')"),
    (pushed.In(("number",), (1, None, 2)), "(`number` IN (1, 2))"),
    (pushed.Not(pushed.EqualTo(("flag",), False)), "(NOT (`flag` = false))"),
    (pushed.EqualNullSafe(("day",), None), "(`day` IS NULL)"),
    (pushed.GreaterThan(("day",), date(2026, 1, 2)), "(`day` > date '2026-01-02')"),
    (pushed.StringContains(("text",), "%"), "(contains(`text`, '%'))"),
]
NOT_SAID = [
    pushed.EqualTo(("number",), 2**31),
    pushed.EqualTo(("tiny",), -1),
    pushed.EqualTo(("nobody",), 1),
    pushed.EqualTo(("tags", "element"), "a"),
    pushed.EqualTo(("price",), Decimal("0.10")),
    pushed.EqualTo(("at",), datetime(2026, 1, 1, tzinfo=timezone.utc)),
    pushed.EqualTo(("share",), 0.0),
    pushed.LessThan(("share",), NAN),
    pushed.Not(pushed.LessThan(("share",), 1.5)),
    pushed.Not(pushed.In(("text",), ("a", None))),
    pushed.EqualTo(("text",), "a\0b"),
]


@pytest.mark.parametrize(("filter_", "sql"), SAID, ids=str)
def test_how_it_is_said(things: Repository, filter_: pushed.Filter, sql: str) -> None:
    """Quoted, and Spark need not look again."""
    told = push_filters([filter_], things.snapshot().dataset(THING).schema)
    assert (told.sql, told.left) == (sql, ())


@pytest.mark.parametrize("filter_", NOT_SAID, ids=str)
def test_what_is_left_to_spark(things: Repository, filter_: pushed.Filter) -> None:
    """What Lance has not, or means otherwise."""
    told = push_filters([filter_], things.snapshot().dataset(THING).schema)
    assert (told.sql, told.left) == (None, (filter_,))


def test_pushdown_from_end_to_end(spark: SparkSession, things: Repository) -> None:
    """A frame that says so reads the same rows, fewer of them; also while Spark's switch is off."""
    wanted = (F.col("text") == "a'b") & (F.col("number") > -5) | (F.col("share") > 1)
    asked = [F.col("text") == "a'b", (F.col("share") > 1) & F.col("flag"), wanted, ~wanted]
    plain = load(spark, things, THING)
    for column in asked:
        frame = load(spark, things, THING, pushdown=True).where(column)
        assert texts(frame) == texts(plain.where(column))
    explained = load(spark, things, THING, pushdown=True).where(asked[0])
    assert "text" in plan(explained)
    assert "Filter (" not in plan(explained)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    try:
        off = load(spark, things, THING, pushdown=True).where(asked[0])
        assert "Filter (" in plan(off)
        assert texts(off) == texts(explained)
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


def test_without_the_option_one_frame_is_filtered_in_many_ways(
    spark: SparkSession, things: Repository
) -> None:
    """Nothing is pushed, because Spark 4.3 keeps what was pushed last for the whole frame."""
    frame = load(spark, things, THING)
    everything = frame.count()
    assert frame.where("number = 7").count() < everything
    assert frame.count() == everything
    some, others = frame.where("number = 7"), frame.where("number = 1").select("number")
    assert some.crossJoin(others.withColumnRenamed("number", "n")).where("n = number").count() == 0


def test_spark_still_keeps_what_was_pushed(spark: SparkSession, things: Repository) -> None:
    """The reason for the option: when this fails, Spark has mended it, and pushing can be usual."""
    frame = load(spark, things, THING, pushdown=True)
    wanted = frame.where("number = 7").count()
    assert frame.count() == wanted < load(spark, things, THING).count()


def plan(frame: DataFrame) -> str:
    """Give the physical plan as text."""
    return str(frame._jdf.queryExecution().simpleString())  # type: ignore[operator]


def texts(frame: DataFrame) -> list[str]:
    """Give rows such that NaN is equal to NaN."""
    return list(map(repr, rows(frame)))
