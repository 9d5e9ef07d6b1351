"""Scan one table of one snapshot: planned by the driver, read by tasks.

Invariant: all batches have exactly Spark's types, and all scans of one DataFrame read one version.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import attrs
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from omnigraph_l2 import ReadTarget
from omnigraph_l2.errors import InvalidFilter
from omnigraph_spark._convert.batch_casts import cast_batch
from omnigraph_spark._convert.error_transport import transport_errors
from omnigraph_spark._read.filter_pushdown import push_filters
from omnigraph_spark._read.scan_partitions import (
    PartitionLimits,
    ScanPartition,
    choose_batch_rows,
    keep_matching,
    plan_partitions,
)

__all__ = ["FilterableTableScan", "TableScan", "is_filter_planner"]

_MOST_BY_INDEX = 100_000
_PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"


@attrs.define(kw_only=True, eq=False)
class TableScan(DataSourceReader):
    """Reads without filters of Spark."""

    target: ReadTarget
    columns: tuple[str, ...]
    schema: pa.Schema
    limits: PartitionLimits
    filter: str | None = None

    def partitions(self) -> list[InputPartition]:
        """Partition the table. Spark has pickled the reader for tasks already."""
        with transport_errors():
            fragments = self.target.fragments()
            rows = choose_batch_rows(self.target.count, sum(each.size_bytes for each in fragments))
            if self.filter is None:
                return list(
                    plan_partitions(fragments, self.limits, like=ScanPartition((), batch_rows=rows))
                )
            found = self.target.matches_by_index(self.filter, _MOST_BY_INDEX)
            if found is not None:
                fragments = tuple(keep_matching(fragments, found))
            how = ScanPartition((), batch_rows=rows, use_index=found is not None)
            return list(plan_partitions(fragments, self.limits, like=how))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one partition, in a task."""
        with transport_errors():
            if not isinstance(partition, ScanPartition) or not partition.fragments:
                return
            reader = self.target.scan(
                self.columns,
                self.filter,
                fragments=partition.fragments,
                offset=partition.offset,
                limit=partition.limit,
                batch_size=partition.batch_rows,
                use_index=partition.use_index is not False,
            )
            for batch in reader:
                yield cast_batch(batch, self.schema, table_key=self.target.table_key)


class FilterableTableScan(TableScan):
    """Reads with filters of Spark, for a DataFrame that is filtered in one way only.

    Spark 4.3 keeps the result of the last pushed filter with the DataFrame and uses it for later
    queries.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take the filters that Lance can apply; return those that Spark must apply."""
        with transport_errors():
            pushed = push_filters(filters, self.target.schema)
            if pushed.sql is None:
                return filters
            wanted = pushed.sql if self.filter is None else f"({self.filter}) AND {pushed.sql}"
            try:
                self.target.matches_by_index(wanted, 0)
            except InvalidFilter:  # Lance understands it differently: Spark filters
                return filters
            self.filter = wanted
            return pushed.left


def is_filter_planner() -> bool:
    """Return whether this process plans with filters.

    While pushdown is off, a reader that takes filters makes every query fail. Spark pushes filters
    only in a process that does nothing else, and only there a reader may take them.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return _PUSHDOWN_WORKER in sys.modules or getattr(main, "name", None) == _PUSHDOWN_WORKER
