"""Each row of files is good, rejected with a reason, or left out because the mapping says so.

Always: a judged frame has one row for each row of the files, with its fate in it; what is judged
later only turns good rows into others. Rows are looked at by themselves here, or with those of
their id; the driver sees counts, and no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from omnigraph_spark._jobs.loading.casting import spark_type
from omnigraph_spark._jobs.loading.fitting import ENDS, ID, Fitted, Value
from omnigraph_spark._jobs.loading.hashing import signature
from omnigraph_spark._jobs.loading.sources import column

__all__ = [
    "DUPLICATE",
    "EXISTS",
    "MISSING_END",
    "Counts",
    "Ids",
    "Judged",
    "counted",
    "judged",
    "rejecting",
    "settled",
]

MALFORMED, NO_ID, NO_END, NULL, UNFIT = "malformed", "no_id", "no_end", "null", "unfit"
DUPLICATE, EXISTS, MISSING_END = "duplicate", "exists", "missing_end"
WHERE, NOT_FIRST, SAME = "where", "not_first", "same"

_ROW, _LINE, _FILE = "_omnigraph_row", "_omnigraph_line", "_omnigraph_file"
_PROBLEMS, _WANTED = "_omnigraph_problems", "_omnigraph_wanted"
_LEFT, _REASON, _DETAIL = "_omnigraph_left", "_omnigraph_reason", "_omnigraph_detail"
_KEY, _MARK, _RANK, _KINDS = (f"_omnigraph_{each}" for each in ("key", "mark", "rank", "kinds"))
_SHOWN: Final = 100
_FEW: Final = 200_000


@attrs.frozen
class Ids:
    """Some ids, in a column ``id``."""

    frame: DataFrame
    count: int


@attrs.frozen(kw_only=True, eq=False)
class Judged:
    """The rows of one table's files, each with its fate."""

    fitted: Fitted
    frame: DataFrame

    @property
    def table(self) -> str:
        """The key of the table."""
        return self.fitted.mapping.table

    @property
    def good(self) -> DataFrame:
        """The rows to load, with the columns of the table."""
        return self.frame.where(_good()).select(*map(column, self.fitted.values))

    @property
    def rejected(self) -> DataFrame:
        """The others that are not left out: ``file``, ``reason``, ``detail``, ``row``, ``line``."""
        told = {"file": _FILE, "reason": _REASON, "detail": _DETAIL, "row": _ROW, "line": _LINE}
        return self.frame.where(F.col(_REASON).isNotNull()).select(
            *(F.col(found).alias(name) for name, found in told.items())
        )


@attrs.frozen(kw_only=True)
class Counts:
    """How many rows have which fate."""

    read: int
    good: int
    left: Mapping[str, int]
    rejected: Mapping[str, int]


def judged(fitted: Fitted) -> Judged:
    """Look at each row by itself."""
    source = fitted.source
    # Ends come first: where an id is made of them, it is they that are missing.
    first = {name: fitted.values[name] for name in ENDS if name in fitted.values}
    problems = [each for value in {**first, **fitted.values}.values() for each in _problems(value)]
    keys = [key.alias(f"{_KEY}{number}") for number, key in enumerate(fitted.order)]
    frame = source.frame.select(
        source.row.alias(_ROW),
        source.line.alias(_LINE),
        source.file.alias(_FILE),
        (F.lit(True) if fitted.where is None else F.coalesce(fitted.where, F.lit(False))).alias(
            _WANTED
        ),
        F.array_compact(F.array(*problems)).alias(_PROBLEMS),
        *(value.cast.value.alias(name) for name, value in fitted.values.items()),
        *keys,
    )
    whole = F.col(_LINE).isNull()
    worst = F.get(F.col(_PROBLEMS), F.lit(0))
    told = F.array_join(F.transform(F.col(_PROBLEMS), lambda each: each.detail), "; ")
    return Judged(
        fitted=fitted,
        frame=frame.select(
            *(column(name) for name in frame.columns if name not in {_PROBLEMS, _WANTED}),
            F.when(whole & ~F.col(_WANTED), WHERE).alias(_LEFT),
            F.when(~whole, MALFORMED).when(F.col(_WANTED), worst.reason).alias(_REASON),
            F.when(~whole, _malformed(fitted))
            .when(F.col(_WANTED) & worst.isNotNull(), told)
            .alias(_DETAIL),
        ),
    )


def counted(rows: Judged) -> Counts:
    """Count."""
    found = rows.frame.groupBy(_LEFT, _REASON).count().collect()
    left = {row[0]: row[2] for row in found if row[0] is not None}
    rejected = {row[1]: row[2] for row in found if row[1] is not None}
    return Counts(
        read=sum(row[2] for row in found),
        good=sum(row[2] for row in found if row[0] is None and row[1] is None),
        left=dict(sorted(left.items())),
        rejected=dict(sorted(rejected.items())),
    )


def rejecting(rows: Judged, name: str, bad: Ids, reason: str, why: str) -> Judged:
    """Reject good rows whose value in a column is among some; ``why`` has braces for the value."""
    before, _, after = why.partition("{}")
    marked = _marked(rows.frame, name, bad)
    hit = _good() & F.col(_MARK).isNotNull()
    text = F.concat(F.lit(before), F.substring(column(name), 1, _SHOWN), F.lit(after))
    return attrs.evolve(rows, frame=_fated(marked, hit, reason, text).drop(_MARK))


def settled(rows: Judged, twice: Ids) -> Judged:
    """Settle what becomes of good rows whose id, which is among others', stands several times."""
    how = rows.fitted.mapping.duplicates
    if how == "reject":
        why = "the id '{}' stands several times in the files"
        return rejecting(rows, ID, twice, DUPLICATE, why)
    marked = _marked(rows.frame, ID, twice)
    hit = _good() & F.col(_MARK).isNotNull()
    values = rows.fitted.values.items()
    told = {name: (column(name), spark_type(value.field.type)) for name, value in values}
    alike = marked.where(hit).withColumn(_KINDS, signature(told))
    others = marked.where(~hit).drop(_MARK)
    same_id = Window.partitionBy(column(ID))
    order = [F.col(f"{_KEY}{number}") for number in range(len(rows.fitted.order))]
    ordered = [
        key.desc_nulls_last() if each.descending else key.asc_nulls_last()
        for key, each in zip(order, rows.fitted.mapping.order_by, strict=True)
    ]
    # Where all that orders rows is the same, their values decide: never where they stand.
    ranked = alike.withColumn(_RANK, F.row_number().over(same_id.orderBy(*ordered, _KINDS)))
    if how == "first":
        ranked = ranked.withColumn(_LEFT, F.when(F.col(_RANK) > 1, NOT_FIRST))
    else:
        differ = F.min(_KINDS).over(same_id) != F.max(_KINDS).over(same_id)
        ranked = ranked.withColumn(_MARK, differ)
        text = F.concat(
            F.lit("rows with the id '"), F.substring(column(ID), 1, _SHOWN), F.lit("' differ")
        )
        ranked = _fated(ranked, F.col(_MARK), DUPLICATE, text)
        ranked = ranked.withColumn(_LEFT, F.when(~F.col(_MARK) & (F.col(_RANK) > 1), SAME))
    return attrs.evolve(rows, frame=others.unionByName(ranked.drop(_MARK, _RANK, _KINDS)))


def _good() -> Column:
    return F.col(_LEFT).isNull() & F.col(_REASON).isNull()


def _fated(frame: DataFrame, hit: Column, reason: str, detail: Column) -> DataFrame:
    return frame.withColumns(
        {
            _REASON: F.when(hit, reason).otherwise(F.col(_REASON)),
            _DETAIL: F.when(hit, detail).otherwise(F.col(_DETAIL)),
        }
    )


def _marked(frame: DataFrame, name: str, bad: Ids) -> DataFrame:
    """Say of each row whether a value of it is among others."""
    marks = bad.frame.select(F.col("id").alias(_KEY), F.lit(True).alias(_MARK))
    # Spark's own choice can fail for lack of memory.
    marks = F.broadcast(marks) if bad.count <= _FEW else marks.hint("merge")
    return frame.join(marks, column(name) == F.col(_KEY), "left").drop(_KEY)


def _problems(value: Value) -> list[Column]:
    name = value.field.name
    if name == ID or name in ENDS:
        text, reason = value.cast.value, NO_ID if name == ID else NO_END
        # What L2 says of ids.
        found = [
            (text.isNull(), reason, F.lit(f"{name!r} has no value")),
            (text == "", reason, F.lit(f"{name!r} is empty")),
            (F.contains(text, F.lit("\0")), reason, F.lit(f"{name!r} holds a NUL")),
            (~F.is_valid_utf8(text), reason, F.lit(f"{name!r} is not valid UTF-8")),
        ]
    else:
        found = []
        if not value.field.nullable:
            required = F.lit(f"{name!r} is required, and has no value")
            found.append((value.given.isNull(), NULL, required))
        if value.cast.fits is not None:
            head = F.lit(f"{name!r} should be {value.field.type}, found '")
            text = F.concat(head, F.substring(value.shown, 1, _SHOWN), F.lit("'"))
            found.append((~F.coalesce(value.cast.fits, F.lit(False)), UNFIT, text))
    return [
        F.when(bad, F.struct(F.lit(reason).alias("reason"), detail.alias("detail")))
        for bad, reason, detail in found
    ]


def _malformed(fitted: Fitted) -> Column:
    if fitted.mapping.format == "csv":
        return F.lit(f"the line is no CSV with {len(fitted.source.columns)} columns")
    return F.lit("the line is no JSON object with these columns")
