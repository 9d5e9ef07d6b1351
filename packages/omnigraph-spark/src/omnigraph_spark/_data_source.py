"""The data source ``omnigraph``, which Spark creates for ``format("omnigraph")``.

Invariant: a DataFrame always shows one snapshot. The snapshot is found when the DataFrame is
created, or, with ``.schema(…)``, when Spark first pickles this object. It is part of the pickled
object, which Spark creates once per DataFrame. A stream keeps its columns in the same way.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from omnigraph_l2 import ReadTarget
from omnigraph_spark._convert.error_transport import transport_errors
from omnigraph_spark._convert.spark_types import arrow_schema, spark_schema
from omnigraph_spark._options.change_options import (
    is_change_stream,
    missing_start,
    parse_change_options,
)
from omnigraph_spark._options.read_options import ReadOptions, parse_read_options
from omnigraph_spark._options.write_options import parse_sink_options, parse_write_options
from omnigraph_spark._read.scan_partitions import PartitionLimits
from omnigraph_spark._read.snapshot_options import check_schema, pin_table, select_columns
from omnigraph_spark._read.table_scan import FilterableTableScan, TableScan, is_filter_planner
from omnigraph_spark._streaming.change_columns import change_schema
from omnigraph_spark._streaming.commit_follower import StreamPlan, plan_stream
from omnigraph_spark._streaming.stream_sink import TableStreamWriter
from omnigraph_spark._streaming.stream_source import ChangeStreamReader
from omnigraph_spark._write.table_writer import TableWriter, plan_write
from omnigraph_spark.errors import InvalidOptions

__all__ = ["OmniGraphDataSource"]


class OmniGraphDataSource(DataSource):
    """A data source for one table of a repository."""

    _pinned: tuple[ReadOptions, ReadTarget] | None = None
    _stream_plan: StreamPlan | None = None

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format(…)``."""
        return "omnigraph"

    def schema(self) -> StructType:
        """Find the snapshot and return the columns that the table has in it."""
        with transport_errors():
            if is_change_stream(self.options):
                plan = self._plan_stream()
                return change_schema(plan.columns, table_key=plan.options.table)
            options, target = self._pin()
            return spark_schema(select_columns(target, options.columns), table_key=target.table_key)

    def reader(self, schema: StructType) -> TableScan:
        """Return a scan of these columns."""
        with transport_errors():
            options, target = self._pin()
            check_schema(target, schema)
            kind = FilterableTableScan if options.pushdown and is_filter_planner() else TableScan
            return kind(
                target=target,
                columns=tuple(schema.fieldNames()),
                schema=arrow_schema(schema),
                limits=PartitionLimits(options.partition_rows, options.partition_bytes),
                filter=options.filter,
            )

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return a reader of changes, for the driver and for tasks."""
        with transport_errors():
            if not is_change_stream(self.options):
                raise missing_start()
            return ChangeStreamReader(self._plan_stream(), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001
        """Plan a write. Spark calls this in a process of its own, before the first task."""
        with transport_errors():
            return TableWriter(
                plan_write(parse_write_options(self.options, overwrite=overwrite), schema)
            )

    def streamWriter(  # noqa: N802 - Spark's name
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001
    ) -> DataSourceStreamWriter:
        """Plan a batch. Spark calls this before its tasks and before its commit."""
        with transport_errors():
            return TableStreamWriter(
                plan_write(parse_sink_options(self.options, overwrite=overwrite), schema)
            )

    def _pin(self) -> tuple[ReadOptions, ReadTarget]:
        if self._pinned is None:
            options = parse_read_options(self.options)
            self._pinned = options, pin_table(options)
        return self._pinned

    def _plan_stream(self) -> StreamPlan:
        if self._stream_plan is None:
            self._stream_plan = plan_stream(parse_change_options(self.options))
        return self._stream_plan

    def __getstate__(self) -> dict[str, Any]:
        # A sink has no options of a read; a reader raises errors about wrong ones itself.
        with transport_errors(), suppress(InvalidOptions):
            if is_change_stream(self.options):
                self._plan_stream()
            else:
                self._pin()
        return self.__dict__
