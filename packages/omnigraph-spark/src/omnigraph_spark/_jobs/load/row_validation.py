"""Validate rows of files: each is good, rejected with a reason, or left out by the mapping.

Invariant: the frame of ``ValidatedRows`` has one row for each row of the files. Later steps only
turn good rows into rejected or left-out ones. Rows are validated alone or together with those of
the same id. The driver sees counts, never rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from omnigraph_spark._jobs.load.column_casts import spark_type
from omnigraph_spark._jobs.load.mapping_resolver import ENDS, ID, ResolvedColumn, ResolvedTable
from omnigraph_spark._jobs.load.row_hashes import hash_values
from omnigraph_spark._jobs.load.source_files import column

__all__ = [
    "DUPLICATE",
    "EXISTS",
    "MISSING_END",
    "IdSet",
    "RowCounts",
    "ValidatedRows",
    "count_rows",
    "reject_values",
    "resolve_duplicates",
    "validate_rows",
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
class IdSet:
    """Ids in a column ``id``, with their number."""

    frame: DataFrame
    count: int


@attrs.frozen(kw_only=True, eq=False)
class ValidatedRows:
    """The rows of one table's files with the result of validation."""

    table_plan: ResolvedTable
    frame: DataFrame

    @property
    def table(self) -> str:
        """The key of the table."""
        return self.table_plan.mapping.table

    @property
    def good(self) -> DataFrame:
        """The rows to load, with the columns of the table."""
        return self.frame.where(_is_good()).select(*map(column, self.table_plan.values))

    @property
    def rejected(self) -> DataFrame:
        """Rejected rows: ``file``, ``reason``, ``detail``, ``row``, ``line``."""
        columns = {"file": _FILE, "reason": _REASON, "detail": _DETAIL, "row": _ROW, "line": _LINE}
        return self.frame.where(F.col(_REASON).isNotNull()).select(
            *(F.col(found).alias(name) for name, found in columns.items())
        )


@attrs.frozen(kw_only=True)
class RowCounts:
    """The number of rows by result."""

    read: int
    good: int
    left: Mapping[str, int]
    rejected: Mapping[str, int]


def validate_rows(table_plan: ResolvedTable) -> ValidatedRows:
    """Validate each row by itself."""
    source = table_plan.source
    # Endpoints first: if an id is derived from them, they are what is missing.
    first = {name: table_plan.values[name] for name in ENDS if name in table_plan.values}
    problems = [
        each for value in {**first, **table_plan.values}.values() for each in _find_problems(value)
    ]
    keys = [key.alias(f"{_KEY}{number}") for number, key in enumerate(table_plan.order)]
    frame = source.frame.select(
        source.row.alias(_ROW),
        source.line.alias(_LINE),
        source.file.alias(_FILE),
        (
            F.lit(True) if table_plan.where is None else F.coalesce(table_plan.where, F.lit(False))
        ).alias(_WANTED),
        F.array_compact(F.array(*problems)).alias(_PROBLEMS),
        *(value.cast.value.alias(name) for name, value in table_plan.values.items()),
        *keys,
    )
    whole = F.col(_LINE).isNull()
    worst = F.get(F.col(_PROBLEMS), F.lit(0))
    details = F.array_join(F.transform(F.col(_PROBLEMS), lambda each: each.detail), "; ")
    return ValidatedRows(
        table_plan=table_plan,
        frame=frame.select(
            *(column(name) for name in frame.columns if name not in {_PROBLEMS, _WANTED}),
            F.when(whole & ~F.col(_WANTED), WHERE).alias(_LEFT),
            F.when(~whole, MALFORMED).when(F.col(_WANTED), worst.reason).alias(_REASON),
            F.when(~whole, _malformed_detail(table_plan))
            .when(F.col(_WANTED) & worst.isNotNull(), details)
            .alias(_DETAIL),
        ),
    )


def count_rows(rows: ValidatedRows) -> RowCounts:
    """Count the rows by result."""
    found = rows.frame.groupBy(_LEFT, _REASON).count().collect()
    left = {row[0]: row[2] for row in found if row[0] is not None}
    rejected = {row[1]: row[2] for row in found if row[1] is not None}
    return RowCounts(
        read=sum(row[2] for row in found),
        good=sum(row[2] for row in found if row[0] is None and row[1] is None),
        left=dict(sorted(left.items())),
        rejected=dict(sorted(rejected.items())),
    )


def reject_values(
    rows: ValidatedRows, name: str, bad: IdSet, reason: str, why: str
) -> ValidatedRows:
    """Reject good rows with one of these values in a column. ``{}`` in ``why`` is the value."""
    before, _, after = why.partition("{}")
    marked = _join_marks(rows.frame, name, bad)
    hit = _is_good() & F.col(_MARK).isNotNull()
    text = F.concat(F.lit(before), F.substring(column(name), 1, _SHOWN), F.lit(after))
    return attrs.evolve(rows, frame=_with_reason(marked, hit, reason, text).drop(_MARK))


def resolve_duplicates(rows: ValidatedRows, twice: IdSet) -> ValidatedRows:
    """Apply the mapping's rule to good rows whose id occurs more than once."""
    how = rows.table_plan.mapping.duplicates
    if how == "reject":
        why = "the id '{}' occurs more than once in the files"
        return reject_values(rows, ID, twice, DUPLICATE, why)
    marked = _join_marks(rows.frame, ID, twice)
    hit = _is_good() & F.col(_MARK).isNotNull()
    values = rows.table_plan.values.items()
    types = {name: (column(name), spark_type(value.field.type)) for name, value in values}
    alike = marked.where(hit).withColumn(_KINDS, hash_values(types))
    others = marked.where(~hit).drop(_MARK)
    same_id = Window.partitionBy(column(ID))
    order = [F.col(f"{_KEY}{number}") for number in range(len(rows.table_plan.order))]
    ordered = [
        key.desc_nulls_last() if each.descending else key.asc_nulls_last()
        for key, each in zip(order, rows.table_plan.mapping.order_by, strict=True)
    ]
    # Rows with equal sort keys are ordered by their values, never by their position.
    ranked = alike.withColumn(_RANK, F.row_number().over(same_id.orderBy(*ordered, _KINDS)))
    if how == "first":
        ranked = ranked.withColumn(_LEFT, F.when(F.col(_RANK) > 1, NOT_FIRST))
    else:
        differ = F.min(_KINDS).over(same_id) != F.max(_KINDS).over(same_id)
        ranked = ranked.withColumn(_MARK, differ)
        text = F.concat(
            F.lit("rows with the id '"), F.substring(column(ID), 1, _SHOWN), F.lit("' differ")
        )
        ranked = _with_reason(ranked, F.col(_MARK), DUPLICATE, text)
        ranked = ranked.withColumn(_LEFT, F.when(~F.col(_MARK) & (F.col(_RANK) > 1), SAME))
    return attrs.evolve(rows, frame=others.unionByName(ranked.drop(_MARK, _RANK, _KINDS)))


def _is_good() -> Column:
    return F.col(_LEFT).isNull() & F.col(_REASON).isNull()


def _with_reason(frame: DataFrame, hit: Column, reason: str, detail: Column) -> DataFrame:
    return frame.withColumns(
        {
            _REASON: F.when(hit, reason).otherwise(F.col(_REASON)),
            _DETAIL: F.when(hit, detail).otherwise(F.col(_DETAIL)),
        }
    )


def _join_marks(frame: DataFrame, name: str, bad: IdSet) -> DataFrame:
    """Mark the rows with one of these values in a column."""
    marks = bad.frame.select(F.col("id").alias(_KEY), F.lit(True).alias(_MARK))
    # The join that Spark would choose can fail for lack of memory.
    marks = F.broadcast(marks) if bad.count <= _FEW else marks.hint("merge")
    return frame.join(marks, column(name) == F.col(_KEY), "left").drop(_KEY)


def _find_problems(value: ResolvedColumn) -> list[Column]:
    name = value.field.name
    if name == ID or name in ENDS:
        text, reason = value.cast.value, NO_ID if name == ID else NO_END
        # The rules of L2 for ids.
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
            found.append((value.raw.isNull(), NULL, required))
        if value.cast.fits is not None:
            head = F.lit(f"{name!r} should be {value.field.type}, found '")
            text = F.concat(head, F.substring(value.shown, 1, _SHOWN), F.lit("'"))
            found.append((~F.coalesce(value.cast.fits, F.lit(False)), UNFIT, text))
    return [
        F.when(bad, F.struct(F.lit(reason).alias("reason"), detail.alias("detail")))
        for bad, reason, detail in found
    ]


def _malformed_detail(table_plan: ResolvedTable) -> Column:
    if table_plan.mapping.format == "csv":
        return F.lit(f"the line is no CSV with {len(table_plan.source.columns)} columns")
    return F.lit("the line is no JSON object with these columns")
