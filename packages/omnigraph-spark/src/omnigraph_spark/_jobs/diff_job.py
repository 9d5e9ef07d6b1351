"""The job ``diff``: executors find, count and write the rows that differ.

Invariant: the result is that of ``Repository.diff``. Both snapshots are found once. A table that
both show at the same version costs nothing. Tables with only inserts or only deletes are read by
several tasks; others are compared by one task with bounded memory.
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
from omnigraph_spark._convert.batch_casts import cast_batch
from omnigraph_spark._convert.error_transport import transport_errors
from omnigraph_spark._convert.spark_types import arrow_schema, spark_schema
from omnigraph_spark._jobs.job_progress import JobProgress, Listener
from omnigraph_spark._jobs.output_files import (
    check_output,
    empty_folder,
    folder_of,
    path_exists,
    refuse_existing,
    refuse_inside,
    refuse_unwritable,
    write_files,
)
from omnigraph_spark._jobs.step_errors import job_step
from omnigraph_spark._options.argument_checks import check_session
from omnigraph_spark._options.output_formats import DIFF_FORMATS
from omnigraph_spark._write.driver_frames import map_batches, run_on_partitions

__all__ = ["DiffReport", "diff"]

_CHANGES: Final = {"insert": "inserted", "update": "updated", "delete": "deleted"}


@attrs.frozen(kw_only=True)
class DiffReport:
    """The difference between two snapshots."""

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
    progress: Listener | None = None,
) -> DiffReport:
    """Compare two snapshots; with ``out``, write the rows to ``<out>/nodes/<type>`` and so on.

    A snapshot is named by a branch, a tag, a commit id, or a version of main. Rows are written with
    ``change``, ``id``, and their values ``before`` and ``after``.
    """
    check_session(spark)
    log = JobProgress(progress)
    check_output("." if out is None else out, format, DIFF_FORMATS)
    with Repository.open(uri, dict(storage_options or {}) or None) as repo:
        if out is not None:
            refuse_inside(repo.uri, "out", out)
        found = repo.diff(before, after, tables)
        log.say(f"from {before} to {after} of {repo.uri}")
        shared = {key: found.share(key) for key in _select_keys(found, tables)}
        paths = {} if out is None else {key: folder_of(out, key) for key in shared if shared[key]}
        schemas = {key: spark_schema(shared[key][0].schema, table_key=key) for key in paths}
        refuse_unwritable(spark, schemas, format)
        if out is not None:
            places = [folder_of(out, key) for key in shared]
            if overwrite:
                _empty_others(spark, [each for each in places if each not in paths.values()])
            else:
                refuse_existing(spark, places)
        differences: dict[str, TableDiff] = {}
        for key, parts in shared.items():
            with job_step("Comparing", key):
                if key in paths:
                    rows = _changed_rows(spark, key, parts, schemas[key])
                    counts = write_files(
                        rows, paths[key], format, overwrite=overwrite, counts=_change_counts()
                    )
                else:
                    counts = _count_changes(spark, parts)
            table = _table_diff(found, key, counts)
            if table is not None:
                differences[key] = table
                log.say(str(table))
    return DiffReport(
        before=str(before), after=str(after), tables=differences, out=paths, seconds=log.seconds
    )


def _select_keys(found: Diff, tables: Collection[str] | None) -> list[str]:
    known = {*found.before.tables, *found.after.tables}
    return sorted(known if tables is None else {*tables})


def _empty_others(spark: SparkSession, places: Iterable[str]) -> None:
    """Remove rows of an earlier diff from folders to which this one writes nothing."""
    for location in places:
        if path_exists(spark, location):
            empty_folder(spark, location)


def _count_changes(spark: SparkSession, parts: tuple[DiffPart, ...]) -> dict[str, int]:
    if not parts:
        return {}
    return sum(run_on_partitions(_numbers(spark, parts), _ChangeCounter(parts)), Counter[str]())


def _changed_rows(
    spark: SparkSession, key: str, parts: tuple[DiffPart, ...], schema: StructType
) -> DataFrame:
    return map_batches(
        _numbers(spark, parts), _ChangeReader(parts, arrow_schema(schema), key), schema
    )


def _numbers(spark: SparkSession, parts: tuple[DiffPart, ...]) -> DataFrame:
    return spark.range(0, len(parts), 1, len(parts))


def _change_counts() -> dict[str, Column]:
    return {change: F.count_if(F.col("change") == change) for change in _CHANGES}


@attrs.frozen
class _ChangeCounter:
    """Counts the changes in some parts of a diff, in a task."""

    parts: tuple[DiffPart, ...]

    def __call__(self, numbers: pa.RecordBatchReader) -> Counter[str]:
        """Count them."""
        counts: Counter[str] = Counter()
        for batch in _batches(self.parts, numbers, []):
            counts.update(batch.column("change").to_pylist())
        return counts


@attrs.frozen
class _ChangeReader:
    """Reads the changes in some parts of a diff, in a task."""

    parts: tuple[DiffPart, ...]
    schema: pa.Schema
    table_key: str

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read them."""
        with transport_errors():
            for batch in _batches(self.parts, numbers, None):
                yield cast_batch(batch, self.schema, table_key=self.table_key)


def _batches(
    parts: tuple[DiffPart, ...], numbers: Iterable[pa.RecordBatch], columns: list[str] | None
) -> Iterator[pa.RecordBatch]:
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from parts[number].rows(columns)


def _table_diff(found: Diff, key: str, counts: Mapping[str, int]) -> TableDiff | None:
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
