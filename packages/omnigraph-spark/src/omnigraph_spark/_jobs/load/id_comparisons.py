"""Find repeated, existing and missing ids.

Each function returns distinct values in a column ``id``. One aggregation finds them: unlike a join
it does not fail for lack of memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from omnigraph_spark._jobs.load.source_files import column

__all__ = ["find_existing", "find_missing", "find_repeated"]

_NEW, _OLD = "_omnigraph_new", "_omnigraph_old"
_HERE: Final = f"{_NEW} > 0"


def find_repeated(rows: DataFrame) -> DataFrame:
    """Return the ids that occur more than once."""
    return _sums(rows, ()).where(f"{_NEW} > 1").select("id")


def find_existing(rows: DataFrame, others: Iterable[DataFrame]) -> DataFrame:
    """Return the ids that other frames have, too."""
    return _sums(rows, others).where(f"{_HERE} and {_OLD} > 0").select("id")


def find_missing(rows: DataFrame, names: Sequence[str], others: Iterable[DataFrame]) -> DataFrame:
    """Return the values of some columns that are no id of the other frames."""
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
