"""Which ids stand twice, are there already, or lead nowhere: found by Spark, as data frames.

Always: each gives distinct values in a column ``id``. One aggregation finds them, at which Spark
does not fail for lack of memory, as it can at a join.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from omnigraph_spark._jobs.loading.sources import column

__all__ = ["also_in", "not_in", "repeated"]

_NEW, _OLD = "_omnigraph_new", "_omnigraph_old"
_HERE: Final = f"{_NEW} > 0"


def repeated(rows: DataFrame) -> DataFrame:
    """Give the ids that stand several times."""
    return _sums(rows, ()).where(f"{_NEW} > 1").select("id")


def also_in(rows: DataFrame, others: Iterable[DataFrame]) -> DataFrame:
    """Give the ids that others have, too."""
    return _sums(rows, others).where(f"{_HERE} and {_OLD} > 0").select("id")


def not_in(rows: DataFrame, names: Sequence[str], others: Iterable[DataFrame]) -> DataFrame:
    """Give the values of some columns that are nobody's id."""
    ends = [rows.select(column(name).alias("id")) for name in names]
    return (
        _sums(reduce(DataFrame.unionByName, ends), others)
        .where(f"{_HERE} and {_OLD} = 0")
        .select("id")
    )


def _sums(rows: DataFrame, others: Iterable[DataFrame]) -> DataFrame:
    new = rows.select("id", F.lit(1).alias(_NEW), F.lit(0).alias(_OLD))
    old = [each.select("id", F.lit(0).alias(_NEW), F.lit(1).alias(_OLD)) for each in others]
    both = reduce(DataFrame.unionByName, old, new)
    return both.groupBy("id").agg(F.sum(_NEW).alias(_NEW), F.sum(_OLD).alias(_OLD))
