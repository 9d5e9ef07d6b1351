"""Reading one table of one snapshot: planned where Spark plans, read where its tasks run.

Always: batches have Spark's types exactly, the second as well as the first, and all readers of one
DataFrame read one version.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import attrs
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from omnigraph_l2 import ReadTarget
from omnigraph_l2.errors import InvalidFilter
from omnigraph_spark._errors.carrying import carrying
from omnigraph_spark._source.filters import push
from omnigraph_spark._source.partitions import Limits, Part, batch_rows, matching, parts
from omnigraph_spark._types import cast_batch

__all__ = ["PushingReader", "Reader", "asked_for_filters"]

_MOST_BY_INDEX = 100_000
_PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"


@attrs.define(kw_only=True, eq=False)
class Reader(DataSourceReader):
    """Reads without filters of Spark's."""

    target: ReadTarget
    columns: tuple[str, ...]
    schema: pa.Schema
    limits: Limits
    filter: str | None = None

    def partitions(self) -> list[InputPartition]:
        """Cut the table into what tasks read. Spark has sent the reader to them already."""
        with carrying():
            fragments = self.target.fragments()
            rows = batch_rows(self.target.count, sum(each.size_bytes for each in fragments))
            if self.filter is None:
                return list(parts(fragments, self.limits, like=Part((), batch_rows=rows)))
            found = self.target.matches_by_index(self.filter, _MOST_BY_INDEX)
            if found is not None:
                fragments = tuple(matching(fragments, found))
            how = Part((), batch_rows=rows, use_index=found is not None)
            return list(parts(fragments, self.limits, like=how))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one part, in a task."""
        with carrying():
            if not isinstance(partition, Part) or not partition.fragments:
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


class PushingReader(Reader):
    """Reads with them: for a DataFrame that is filtered in one way only.

    Spark 4.3 keeps what the last pushed filter gave, with the DataFrame, for its later queries.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take the filters that Lance can do, and give back those that Spark must look at."""
        with carrying():
            pushed = push(filters, self.target.schema)
            if pushed.sql is None:
                return filters
            wanted = pushed.sql if self.filter is None else f"({self.filter}) AND {pushed.sql}"
            try:
                self.target.matches_by_index(wanted, 0)
            except InvalidFilter:  # Lance reads it otherwise than we do: Spark does it all
                return filters
            self.filter = wanted
            return pushed.left


def asked_for_filters() -> bool:
    """Tell whether Spark plans with filters.

    While its switch is off, a reader that takes filters makes every query fail. Spark asks for
    filters in a process that does nothing else, and only there a reader may take them.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return _PUSHDOWN_WORKER in sys.modules or getattr(main, "name", None) == _PUSHDOWN_WORKER
