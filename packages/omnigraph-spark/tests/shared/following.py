"""A stream source driven as Spark drives it, without a JVM: what it gives, batch by batch."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
from pyspark.sql.streaming.datasource import ReadLimit
from spark_graph import PERSON

from pyspark_omnigraph import DefaultSource

__all__ = ["Following", "changed"]

Row = dict[str, Any]


class Following:
    """One run of a query: it begins where another one ended, or where the stream begins."""

    def __init__(self, uri: str, *, at: Any = None, table: str = PERSON, **options: Any) -> None:
        given = {"path": uri, "table": table, **{name: str(each) for name, each in options.items()}}
        self.source = DefaultSource(given)
        self.schema = self.source.schema()
        self.source = pickle.loads(pickle.dumps(self.source))
        self.reader = self._made()
        self.at = self.reader.initialOffset() if at is None else at

    def _made(self) -> Any:
        return self.source.streamReader(self.schema)

    def batch(self, limit: ReadLimit | None = None) -> list[Row] | None:
        """Read one batch; None where nothing is new."""
        start = self.at
        end = self.reader.latestOffset(start, limit or self.reader.getDefaultReadLimit())
        if end == start:
            return None
        self.at = end
        return self.between(start, end)

    def between(self, start: Any, end: Any) -> list[Row]:
        """Read a range, in tasks of other processes."""
        found: list[Row] = []
        for partition in self.reader.partitions(start, end):
            sent = pickle.loads(pickle.dumps((self._made(), partition)))
            for batch in sent[0].read(sent[1]):
                assert batch.schema == self._made()._schema
                found += pa.Table.from_batches([batch]).to_pylist()
        return found

    def rest(self) -> list[list[Row]]:
        """Read batches until there is nothing new."""
        found = []
        while (batch := self.batch()) is not None:
            found.append(batch)
        return found


def changed(rows: list[Row]) -> list[str]:
    """Say in short what changed: kind and id."""
    return sorted(f"{row['change']} {row['id']}" for row in rows)
