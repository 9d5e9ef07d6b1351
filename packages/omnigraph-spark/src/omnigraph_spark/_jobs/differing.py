"""``diff`` on a cluster: the rows that differ are found, counted and written by executors.

Always: what ``Repository.diff`` tells, of two moments that are found once. Tables that both show at
the same version cost nothing. Where rows only came or only went, several tasks read them; where
both happened to one table, one does, with bounded memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import attrs
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql.types import StructType

from omnigraph_l2 import Diff, DiffPart, Repository, Snapshot, TableChange, TableDiff
from omnigraph_spark._errors.carrying import carrying
from omnigraph_spark._jobs.failing import step
from omnigraph_spark._jobs.output import (
    check_output,
    empty,
    exists,
    folder_of,
    refuse_existing,
    refuse_inside,
    refuse_unwritable,
    write,
)
from omnigraph_spark._jobs.progress import Progress, Tell
from omnigraph_spark._session.given import check_session
from omnigraph_spark._types import arrow_schema, cast_batch, spark_schema
from omnigraph_spark._writing.frames import mapped, run

__all__ = ["DIFF_FORMATS", "DiffReport", "diff"]

DIFF_FORMATS: Final = ("parquet", "ndjson")
_CHANGES: Final = {"insert": "inserted", "update": "updated", "delete": "deleted"}


@attrs.frozen(kw_only=True)
class DiffReport:
    """What differs between two moments."""

    before: str
    after: str
    tables: Mapping[str, TableDiff]
    """The tables that differ, by table key."""
    out: Mapping[str, str]
    """Where the rows of each were written, by table key."""
    seconds: float

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not self.tables

    def __str__(self) -> str:
        head = f"From {self.before} to {self.after}"
        if self.is_empty:
            return f"{head}: nothing differs"
        return "\n".join([f"{head}:", *(f"  {each}" for each in self.tables.values())])


def diff(
    spark: SparkSession,
    uri: str,
    before: str | int,
    after: str | int,
    *,
    tables: Collection[str] | None = None,
    out: str | None = None,
    format: str = "parquet",  # noqa: A002 - Spark's name
    overwrite: bool = False,
    storage_options: Mapping[str, str] | None = None,
    progress: Tell | None = None,
) -> DiffReport:
    """Tell what differs; with ``out``, write the rows to ``<out>/nodes/<type>`` and so on.

    A moment is a branch, a tag, a commit id, or a version of main. Rows are written with their
    ``change``, their ``id``, and what they were ``before`` and ``after``.
    """
    check_session(spark)
    telling = Progress(progress)
    check_output("." if out is None else out, format, DIFF_FORMATS)
    with Repository.open(uri, dict(storage_options or {}) or None) as repo:
        if out is not None:
            refuse_inside(repo.uri, "out", out)
        found = repo.diff(before, after, tables)
        telling.say(f"from {before} to {after} of {repo.uri}")
        shared = {key: found.share(key) for key in _keys(found, tables)}
        paths = {} if out is None else {key: folder_of(out, key) for key in shared if shared[key]}
        schemas = {key: spark_schema(shared[key][0].schema, table_key=key) for key in paths}
        refuse_unwritable(spark, schemas, format)
        if out is not None:
            places = [folder_of(out, key) for key in shared]
            if overwrite:
                _empty_others(spark, [each for each in places if each not in paths.values()])
            else:
                refuse_existing(spark, places)
        told: dict[str, TableDiff] = {}
        for key, parts in shared.items():
            with step("Comparing", key):
                if key in paths:
                    rows = _rows(spark, key, parts, schemas[key])
                    counts = write(rows, paths[key], format, overwrite=overwrite, counts=_changes())
                else:
                    counts = _counts(spark, parts)
            table = _told(found, key, counts)
            if table is not None:
                told[key] = table
                telling.say(str(table))
    return DiffReport(
        before=str(before), after=str(after), tables=told, out=paths, seconds=telling.seconds
    )


def _keys(found: Diff, tables: Collection[str] | None) -> list[str]:
    known = {*found.before.tables, *found.after.tables}
    return sorted(known if tables is None else {*tables})


def _empty_others(spark: SparkSession, places: Iterable[str]) -> None:
    """Leave no row of an earlier diff where this one has none to write."""
    for place in places:
        if exists(spark, place):
            empty(spark, place)


def _counts(spark: SparkSession, parts: tuple[DiffPart, ...]) -> dict[str, int]:
    if not parts:
        return {}
    return sum(run(_numbers(spark, parts), _Counting(parts)), Counter[str]())


def _rows(
    spark: SparkSession, key: str, parts: tuple[DiffPart, ...], schema: StructType
) -> DataFrame:
    return mapped(_numbers(spark, parts), _Telling(parts, arrow_schema(schema), key), schema)


def _numbers(spark: SparkSession, parts: tuple[DiffPart, ...]) -> DataFrame:
    return spark.range(0, len(parts), 1, len(parts))


def _changes() -> dict[str, Column]:
    return {change: F.count_if(F.col("change") == change) for change in _CHANGES}


@attrs.frozen
class _Counting:
    """Counts the rows of some parts, in a task."""

    parts: tuple[DiffPart, ...]

    def __call__(self, numbers: pa.RecordBatchReader) -> Counter[str]:
        """Count them."""
        counts: Counter[str] = Counter()
        for batch in _batches(self.parts, numbers, []):
            counts.update(batch.column("change").to_pylist())
        return counts


@attrs.frozen
class _Telling:
    """Gives the rows of some parts, in a task."""

    parts: tuple[DiffPart, ...]
    schema: pa.Schema
    table_key: str

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read them."""
        with carrying():
            for batch in _batches(self.parts, numbers, None):
                yield cast_batch(batch, self.schema, table_key=self.table_key)


def _batches(
    parts: tuple[DiffPart, ...], numbers: Iterable[pa.RecordBatch], columns: list[str] | None
) -> Iterator[pa.RecordBatch]:
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from parts[number].rows(columns)


def _told(found: Diff, key: str, counts: Mapping[str, int]) -> TableDiff | None:
    older, newer = found.before.tables.get(key), found.after.tables.get(key)
    change = TableChange.CHANGED
    before, after = _properties(found.before, key), _properties(found.after, key)
    if older is None or newer is None:
        change = TableChange.ADDED if older is None else TableChange.REMOVED
        before, after = {}, {}
    added, removed = (
        tuple(name for name, kind in one.items() if other.get(name) != kind)
        for one, other in ((after, before), (before, after))
    )
    if change is TableChange.CHANGED and not (any(counts.values()) or added or removed):
        return None
    rows: dict[str, Any] = {_CHANGES[each]: counts.get(each, 0) for each in _CHANGES}
    return TableDiff(
        table_key=key, change=change, added_properties=added, removed_properties=removed, **rows
    )


def _properties(snapshot: Snapshot, key: str) -> Mapping[str, pa.DataType]:
    schema = snapshot.schema
    nodes = {each.table_key: each.properties for each in schema.nodes}
    edges = {each.table_key: each.properties for each in schema.edges}
    return {**nodes, **edges}.get(key, {})
