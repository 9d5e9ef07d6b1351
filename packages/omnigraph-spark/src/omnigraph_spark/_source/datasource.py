"""The data source ``omnigraph``: what Spark makes of ``format("omnigraph")``.

Always: a DataFrame shows one moment for ever. It is found when the DataFrame is made, or, where a
schema was given to ``.schema(…)``, when Spark first keeps this instance; from then on it travels
with the instance, which Spark makes once for a DataFrame and pickles. A stream keeps which columns
it has in the same way.
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
from omnigraph_spark._errors.carrying import carrying
from omnigraph_spark._options import ReadOptions, read_options
from omnigraph_spark._source.partitions import Limits
from omnigraph_spark._source.pinning import check_schema, chosen, pinned
from omnigraph_spark._source.reader import PushingReader, Reader, asked_for_filters
from omnigraph_spark._streaming.columns import stream_schema
from omnigraph_spark._streaming.following import Plan
from omnigraph_spark._streaming.following import planned as begun
from omnigraph_spark._streaming.options import is_stream, no_beginning, source_options
from omnigraph_spark._streaming.sink import StreamSink
from omnigraph_spark._streaming.source import StreamSource
from omnigraph_spark._types import arrow_schema, spark_schema
from omnigraph_spark._writing.options import stream_options, write_options
from omnigraph_spark._writing.writer import TableWriter, planned
from omnigraph_spark.errors import InvalidOptions

__all__ = ["OmniGraphDataSource"]


class OmniGraphDataSource(DataSource):
    """One table of a graph."""

    _pinned: tuple[ReadOptions, ReadTarget] | None = None
    _begun: Plan | None = None

    @classmethod
    def name(cls) -> str:
        """Give what stands in ``format(…)``."""
        return "omnigraph"

    def schema(self) -> StructType:
        """Find the moment, and tell the columns that the table has then."""
        with carrying():
            if is_stream(self.options):
                plan = self._plan()
                return stream_schema(plan.columns, table_key=plan.options.table)
            options, target = self._found()
            return spark_schema(chosen(target, options.columns), table_key=target.table_key)

    def reader(self, schema: StructType) -> Reader:
        """Give what reads these columns."""
        with carrying():
            options, target = self._found()
            check_schema(target, schema)
            kind = PushingReader if options.pushdown and asked_for_filters() else Reader
            return kind(
                target=target,
                columns=tuple(schema.fieldNames()),
                schema=arrow_schema(schema),
                limits=Limits(options.partition_rows, options.partition_bytes),
                filter=options.filter,
            )

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Give what reads changes: for the driver, and for the tasks."""
        with carrying():
            if not is_stream(self.options):
                raise no_beginning()
            return StreamSource(self._plan(), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001
        """Plan a write: a process of its own asks for it, before the first task."""
        with carrying():
            return TableWriter(planned(write_options(self.options, overwrite=overwrite), schema))

    def streamWriter(  # noqa: N802 - Spark's name
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001
    ) -> DataSourceStreamWriter:
        """Plan a stream: before the tasks of a batch, and again before its commit."""
        with carrying():
            return StreamSink(planned(stream_options(self.options, overwrite=overwrite), schema))

    def _found(self) -> tuple[ReadOptions, ReadTarget]:
        if self._pinned is None:
            options = read_options(self.options)
            self._pinned = options, pinned(options)
        return self._pinned

    def _plan(self) -> Plan:
        if self._begun is None:
            self._begun = begun(source_options(self.options))
        return self._begun

    def __getstate__(self) -> dict[str, Any]:
        # A stream's sink has no options of a read; a reader with wrong ones says so itself.
        with carrying(), suppress(InvalidOptions):
            if is_stream(self.options):
                self._plan()
            else:
                self._found()
        return self.__dict__
