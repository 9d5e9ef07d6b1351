"""The steps of a load: validate all rows, write the rejected ones aside, write the good ones.

Invariant: nodes are validated before edges, whose endpoints must be loaded now or exist already.
Files are read once: validated rows are persisted on executors, on disk where memory is short,
because they are used several times and files may change in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Final

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from omnigraph_l2 import EdgeType
from omnigraph_l2.errors import DanglingEdges
from omnigraph_spark._jobs.job_progress import JobProgress
from omnigraph_spark._jobs.load.id_comparisons import find_existing, find_missing, find_repeated
from omnigraph_spark._jobs.load.load_mapping import APPEND, OVERWRITE, UPSERT, RejectLimit
from omnigraph_spark._jobs.load.load_result import LoadedTable, format_counts
from omnigraph_spark._jobs.load.mapping_resolver import ENDS, ID, ResolvedTable
from omnigraph_spark._jobs.load.row_validation import (
    EXISTS,
    MISSING_END,
    IdSet,
    RowCounts,
    ValidatedRows,
    count_rows,
    reject_values,
    resolve_duplicates,
    validate_rows,
)
from omnigraph_spark._jobs.output_files import folder_of
from omnigraph_spark._jobs.step_errors import translate_spark_errors
from omnigraph_spark._write.driver_frames import read_rows
from omnigraph_spark._write.spark_transaction import SparkTransaction
from omnigraph_spark.errors import LoadFailed, TooManyRejects

__all__ = ["LoadSteps", "load_step"]

_SHOWN: Final = 10
_EXAMPLES: Final = 3


def load_step(name: str, table_key: str) -> AbstractContextManager[None]:
    """Run a step of a load; raise ``LoadFailed`` if Spark fails."""
    return translate_spark_errors(
        lambda detail: LoadFailed(step=name, table_key=table_key, detail=detail)
    )


@attrs.frozen
class LoadSteps:
    """One load in its transaction."""

    spark: SparkSession
    tx: SparkTransaction
    progress: JobProgress
    resources: ExitStack
    """Lets go of what is cached on executors."""

    def validate(self, tables: Sequence[ResolvedTable]) -> dict[ValidatedRows, RowCounts]:
        """Validate the rows of all tables."""
        found: dict[str, tuple[ValidatedRows, RowCounts]] = {}
        for fitted in sorted(tables, key=lambda each: each.mapping.is_edge):
            key = fitted.mapping.table
            with load_step("Reading", key):
                rows, counts = self._read(fitted)
            with load_step("Checking", key):
                checked = self._check_ids(rows, {name: each[0] for name, each in found.items()})
                if checked is not rows:
                    before, counts = counts, count_rows(checked)
                    _check_count(key, "rows were read, and later", before.read, counts.read)
            lost = f"; rejected: {format_counts(counts.rejected)}" if counts.rejected else ""
            self.progress.say(f"{key}: {counts.good:,} rows are good{lost}")
            found[key] = checked, counts
        return dict(found.values())

    def write_rejects(
        self, found: Mapping[ValidatedRows, RowCounts], folder: str | None, allowed: RejectLimit
    ) -> str | None:
        """Write rejected rows; raise ``TooManyRejects`` where there are too many."""
        bad = {rows: counts for rows, counts in found.items() if counts.rejected}
        for rows, counts in bad.items():
            if folder is not None:
                with load_step("Writing the rejected rows of", rows.table):
                    _write_rejects(rows, folder_of(folder, rows.table))
                self.progress.say(f"{rows.table}: {sum(counts.rejected.values()):,} set aside")
        read = sum(counts.read for counts in found.values())
        rejected = sum(sum(counts.rejected.values()) for counts in bad.values())
        if rejected > allowed.of(read):
            raise TooManyRejects(
                read=read,
                rejected=rejected,
                allowed=str(allowed),
                counts=tuple(
                    f"{rows.table}: {format_counts(c.rejected)}" for rows, c in bad.items()
                ),
                examples=tuple(each for rows in bad for each in _examples(rows)),
                folder=folder,
            )
        return folder if bad else None

    def write(self, found: Mapping[ValidatedRows, RowCounts]) -> dict[str, LoadedTable]:
        """Write the good rows; they are visible when the transaction ends."""
        done = {}
        for rows, counts in found.items():
            key, mode = rows.table, rows.table_plan.mapping.mode
            began = self.progress.seconds
            with load_step("Writing", key):
                how = {APPEND: self.tx.append, UPSERT: self.tx.upsert, OVERWRITE: self.tx.overwrite}
                how[mode](key, rows.good)
            _check_count(key, "rows are good, and written were", counts.good, self.tx.rows[key])
            self.progress.say(
                f"{key}: {counts.good:,} rows written{self._rate(counts.good, began)}"
            )
            done[key] = LoadedTable(
                table_key=key,
                mode=mode,
                read=counts.read,
                loaded=counts.good,
                rejected=counts.rejected,
                left_out=counts.left,
            )
        return done

    def _read(self, fitted: ResolvedTable) -> tuple[ValidatedRows, RowCounts]:
        mapping = fitted.mapping
        self.progress.say(f"reading {mapping.table}: {', '.join(mapping.files)} ({mapping.format})")
        if fitted.unused:
            self.progress.say(f"{mapping.table}: not loaded: {', '.join(fitted.unused)}")
        began = self.progress.seconds
        rows = validate_rows(fitted)
        rows = attrs.evolve(rows, frame=self._persist(rows.frame))
        counts = count_rows(rows)
        rate = self._rate(counts.read, began)
        self.progress.say(f"{mapping.table}: {counts.read:,} rows read{rate}")
        return rows, counts

    def _check_ids(self, rows: ValidatedRows, before: Mapping[str, ValidatedRows]) -> ValidatedRows:
        key, mapping = rows.table, rows.table_plan.mapping
        if mapping.mode == APPEND and (there := self._existing_ids(key)):
            why = "the id '{}' is in the graph already"
            old = self._ids(find_existing(rows.good, there))
            rows = reject_values(rows, ID, old, EXISTS, why) if old.count else rows
        if mapping.is_edge:
            rows = self._ends(rows, before)
        twice = self._ids(find_repeated(rows.good))
        return resolve_duplicates(rows, twice) if twice.count else rows

    def _ends(self, rows: ValidatedRows, before: Mapping[str, ValidatedRows]) -> ValidatedRows:
        for nodes, names in self._nodes_by_ends(rows.table).items():
            known = [frame for node in nodes for frame in self._nodes(node, before.get(node))]
            lost = self._ids(find_missing(rows.good, names, known))
            if not lost.count:
                continue
            if rows.table_plan.mapping.missing_ends == "fail":
                shown = lost.frame.orderBy(ID).limit(_SHOWN).collect()
                raise DanglingEdges(
                    table_key=rows.table,
                    column=" or ".join(names),
                    node_tables=nodes,
                    missing=tuple(row.id for row in shown),
                )
            for name in names:
                why = f"{name} is '{{}}', and there is no such {' or '.join(nodes)}"
                rows = reject_values(rows, name, lost, MISSING_END, why)
        return rows

    def _nodes_by_ends(self, key: str) -> dict[tuple[str, ...], list[str]]:
        """Return the endpoint columns by node tables; often both have the same tables."""
        schema = self.tx.snapshot.schema
        declared = schema[key]
        assert isinstance(declared, EdgeType)  # noqa: S101 - its key says so
        found: dict[tuple[str, ...], list[str]] = {}
        for name, kind in zip(ENDS, (declared.source, declared.target), strict=True):
            # Declared by the original program: then any node will do.
            nodes = (each.table_key for each in schema.nodes if kind in {None, each.name})
            found.setdefault(tuple(nodes), []).append(name)
        return found

    def _nodes(self, key: str, loaded: ValidatedRows | None) -> list[DataFrame]:
        now = [] if loaded is None else [loaded.good.select(ID)]
        replaced = loaded is not None and loaded.table_plan.mapping.mode == OVERWRITE
        return now if replaced else [*now, *self._existing_ids(key)]

    def _existing_ids(self, key: str) -> list[DataFrame]:
        """Return the ids of a table, if it has any rows."""
        shared = self.tx.snapshot.share(key)
        return [read_rows(self.spark, shared, [ID])] if shared.count else []

    def _ids(self, frame: DataFrame) -> IdSet:
        cached = self._persist(frame)
        return IdSet(cached, cached.count())

    def _persist(self, frame: DataFrame) -> DataFrame:
        cached = frame.persist()
        self.resources.callback(cached.unpersist)
        return cached

    def _rate(self, rows: int, began: float) -> str:
        seconds = max(self.progress.seconds - began, 0.001)
        return f" in {seconds:.1f} s, {rows / seconds:,.0f} a second"


def _check_count(key: str, what: str, expected: int, found: int) -> None:
    if expected != found:
        detail = f"{expected} {what} {found}: did files change meanwhile?"
        raise LoadFailed(step="Counting", table_key=key, detail=detail)


def _write_rejects(rows: ValidatedRows, folder: str) -> None:
    rejects = rows.rejected.select(F.lit(rows.table).alias("table"), "*")
    rejects.write.mode("error").option("ignoreNullFields", False).json(folder)


def _examples(rows: ValidatedRows) -> list[str]:
    with load_step("Reading", rows.table):
        found = rows.rejected.orderBy("file", "detail").limit(_EXAMPLES).collect()
    return [f"{rows.table}: {row.detail}" for row in found]
