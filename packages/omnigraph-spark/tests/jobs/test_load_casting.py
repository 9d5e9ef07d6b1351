"""Values of files in the types of a table: the same values, or a reject."""

# ruff: noqa: DTZ001 - moments without a zone are what some tables hold

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql.types import DataType

from omnigraph_spark._jobs.load.column_casts import IncompatibleTypes, cast_column

pytestmark = pytest.mark.spark

UTC = dt.timezone.utc
NO = object()
"""The value does not fit."""

TEXT: dict[Any, dict[str, Any]] = {
    pa.int8(): {"127": 127, " 1 ": 1, "128": NO, "1.0": NO, "x": NO, "": NO, "1e2": NO},
    pa.uint16(): {"65535": 65535, "-1": NO, "65536": NO},
    pa.uint64(): {str(2**64 - 1): Decimal(2**64 - 1), str(2**64): NO, "-1": NO},
    pa.int64(): {str(2**63 - 1): 2**63 - 1, str(2**63): NO},
    pa.float64(): {
        "0.1": 0.1, "1e3": 1000.0, "-Infinity": float("-inf"), "inf": float("inf"), "0e9": 0.0,
        ".5": 0.5, "1.": 1.0, "1e999": NO, "1e-999": NO, "1d": NO, "1f": NO, "0x1p3": NO, "": NO,
    },
    pa.float32(): {"0.5": 0.5, "1e39": NO, "1e-60": NO},
    pa.decimal128(4, 2): {
        "1.239": NO, "1.2300": Decimal("1.23"), "99.99": Decimal("99.99"), "100": NO, "1e1": NO,
        ".5": Decimal("0.50"), ".": NO, "": NO, "-1": Decimal("-1.00"),
    },
    pa.bool_(): {"true": True, "0": False, "maybe": NO},
    pa.date32(): {
        "2020-02-29": dt.date(2020, 2, 29), "2021-02-29": NO, "2020": NO, "2020-01-01T10:00": NO,
    },
    pa.timestamp("us", "UTC"): {
        "2020-01-01T10:00:00.123456Z": dt.datetime(2020, 1, 1, 10, 0, 0, 123456, UTC),
        "2020-01-01 10:00:00+02:00": dt.datetime(2020, 1, 1, 8, tzinfo=UTC),
        "2020-01-01": dt.datetime(2020, 1, 1, tzinfo=UTC),
        "2020-01-01T10:00:00.1234567Z": NO, "10:00": NO, "2020-01-01T25:00": NO, "now": NO,
    },
    pa.timestamp("us"): {
        "2020-01-01T10:00:00.5": dt.datetime(2020, 1, 1, 10, 0, 0, 500000),
        "2020-01-01T10:00:00Z": NO, "2020-01-01T10:00:00 Europe/Berlin": NO, "10:00": NO,
    },
    pa.timestamp("s"): {"2020-01-01T10:00:05": dt.datetime(2020, 1, 1, 10, 0, 5),
                        "2020-01-01T10:00:05.5": NO},
    pa.timestamp("ms", "UTC"): {"2020-01-01T10:00:05.123": dt.datetime(
        2020, 1, 1, 10, 0, 5, 123000, UTC), "2020-01-01T10:00:05.1234": NO},
    pa.timestamp("ns"): {"2020-01-01": dt.datetime(2020, 1, 1), "1500-01-01": NO},
    pa.time64("us"): {"10:00:00.5": dt.time(10, 0, 0, 500000), "25:00:00": NO, "x": NO},
    pa.time32("s"): {"10:00:05": dt.time(10, 0, 5), "10:00:05.5": NO},
    pa.string(): {"": "", "x": "x"},
}  # fmt: skip

OTHERS: list[tuple[str, Any, dict[Any, Any]]] = [
    ("bigint", pa.int32(), {2**31 - 1: 2**31 - 1, 2**31: NO}),
    ("bigint", pa.float64(), {2**53: float(2**53), 2**53 + 1: NO, 2**63 - 1: NO}),
    ("int", pa.float32(), {2**24: float(2**24), 2**24 + 1: NO}),
    ("double", pa.int32(), {1.0: 1, 1.5: NO, float("nan"): NO, 1e10: NO}),
    ("double", pa.int64(), {2.0**62: 2**62, 2.0**63: NO}),
    ("double", pa.float32(), {0.5: 0.5, 0.1: NO, float("inf"): float("inf")}),
    ("decimal(10,2)", pa.decimal128(4, 1), {Decimal("1.50"): Decimal("1.5"),
                                            Decimal("1.55"): NO, Decimal("1000.00"): NO}),
    ("decimal(10,2)", pa.int32(), {Decimal("7.00"): 7, Decimal("7.10"): NO}),
    ("int", pa.decimal128(3, 1), {12: Decimal("12.0"), 123: NO}),
    ("int", pa.uint8(), {255: 255, 256: NO, -1: NO}),
    ("int", pa.string(), {7: "7"}),
    ("timestamp_ntz", pa.date32(), {dt.datetime(2020, 1, 1): dt.date(2020, 1, 1),
                                    dt.datetime(2020, 1, 1, 1): NO}),
    ("array<string>", pa.list_(pa.int32()), {("1", "2"): [1, 2], ("1", "x"): NO, (): []}),
    ("array<float>", pa.list_(pa.float32(), 2), {(0.5, 1.0): [0.5, 1.0], (0.5,): NO}),
    ("array<double>", pa.list_(pa.float32(), 2), {(0.5, 1.0): [0.5, 1.0], (0.1, 1.0): NO}),
    ("array<int>", pa.list_(pa.field("item", pa.int32(), nullable=False)),
     {(1, 2): [1, 2], (1, None): NO}),
    ("struct<a:string>", pa.struct([("a", pa.int32()), ("b", pa.int32())]),
     {("1",): (1, None), ("x",): NO}),
    ("binary", pa.binary(2), {b"ab": b"ab", b"a": NO}),
]  # fmt: skip

IMPOSSIBLE = [("int", pa.bool_()), ("binary", pa.string()), ("string", pa.list_(pa.int32())),
              ("double", pa.decimal128(4, 1)), ("string", pa.binary()), ("bigint", pa.date32()),
              ("struct<c:int>", pa.struct([("a", pa.int32())])), ("timestamp", pa.string()),
]  # fmt: skip


_CASES = [("string", wanted, given) for wanted, given in TEXT.items()]
_CASES += OTHERS


@pytest.fixture(scope="module")
def become(spark: SparkSession) -> list[list[Any]]:
    """What the values of each case become, and a null after them: all by one job of Spark."""
    names = [f"c{number}" for number in range(len(_CASES))]
    row = [[*given, None] for _, _, given in _CASES]
    kinds = [f"{name} array<{kind}>" for name, (kind, _, _) in zip(names, _CASES, strict=True)]
    frame = spark.createDataFrame([row], ", ".join(kinds))
    done = frame.select(
        *(
            F.transform(name, _casting(frame.schema[name].dataType.elementType, wanted)).alias(name)
            for name, (_, wanted, _) in zip(names, _CASES, strict=True)
        )
    )
    told = done.toArrow().to_pylist()[0]
    return [[each["value"] if each["fits"] else NO for each in told[name]] for name in names]


def _casting(found: DataType, wanted: pa.DataType) -> Callable[[Column], Column]:
    def casting(given: Column) -> Column:
        made = cast_column(given, found, wanted)
        fits = F.lit(True) if made.fits is None else made.fits
        return F.struct(made.value.alias("value"), fits.alias("fits"))

    return casting


@pytest.mark.parametrize(
    "number", range(len(_CASES)), ids=lambda n: f"{_CASES[n][0]} {_CASES[n][1]}"
)
def test_values_stay_the_same(become: list[list[Any]], number: int) -> None:
    """Text says a value in full, and nothing is rounded, cut, or taken from the clock."""
    _, _, given = _CASES[number]
    found = become[number]
    plain = [tuple(each.values()) if isinstance(each, dict) else each for each in found]
    assert dict(zip(given, plain, strict=False)) == given
    assert plain[-1] is None


@pytest.mark.parametrize(("kind", "wanted"), IMPOSSIBLE, ids=str)
def test_what_would_have_to_be_interpreted_is_for_an_expression(
    spark: SparkSession, kind: str, wanted: Any
) -> None:
    """It is told before any row is read."""
    found = spark.createDataFrame([], f"given {kind}").schema[0].dataType
    with pytest.raises(IncompatibleTypes):
        cast_column(F.col("given"), found, wanted)
