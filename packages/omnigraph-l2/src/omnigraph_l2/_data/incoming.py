"""Rows on their way in: whatever a user gave, as a stream of batches that a table takes as it is.

Always: no value is changed. What can be cast without loss is; of everything else the user is told,
as ``DataProblems`` with every problem: those of the columns before a row is read, those of the rows
of a stream batch by batch, and those of data in memory all at once. Memory does not grow with
the data. What the user's own reader raises comes out as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from omnigraph_l2._data.findings import Findings, short
from omnigraph_l2._data.frame_source import frame_source
from omnigraph_l2._data.id_rules import id_columns, refuse_bad_ids
from omnigraph_l2._data.row_source import RowSource
from omnigraph_l2._data.slicing import MAX_BYTES, halved
from omnigraph_l2._data.sources import Source, arrow_source

__all__ = ["Incoming", "incoming"]


def incoming(
    data: Any,
    schema: pa.Schema,
    *,
    what: str,
    may_lack_nullable: bool = False,
    ids: tuple[str, ...] | None = None,
    max_batch_bytes: int = MAX_BYTES,
) -> Incoming:
    """Take data of any kind for a table with this schema, or raise ``DataProblems``.

    ``what`` names the table in messages. With ``may_lack_nullable`` the result has only those
    nullable columns that the data has; otherwise the others are null. ``ids`` names the columns
    that hold ids, if they are not those that the schema tells.
    """
    findings = Findings(what, schema.names)
    source = _source(data, findings)
    coming = source.prepare(schema, findings, may_lack=may_lack_nullable)
    findings.raise_if_any()
    if ids is None:
        ids = id_columns(schema)
    return Incoming(source, coming, findings, ids, max_batch_bytes)


class Incoming:
    """A stream of batches, to be read once. ``rows`` counts those that went by."""

    def __init__(
        self, source: Source, schema: pa.Schema, findings: Findings, ids: tuple[str, ...], most: int
    ) -> None:
        self.schema = schema
        self.rows = 0
        self._batches = self._stream(source, findings, ids, most)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._batches

    def reader(self) -> pa.RecordBatchReader:
        """Give the same stream as a reader."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches)

    def _stream(
        self, source: Source, findings: Findings, ids: tuple[str, ...], most: int
    ) -> Iterator[pa.RecordBatch]:
        looked_at = 0
        for batch in source.batches(self.schema, findings, most):
            if batch is None:
                findings.raise_if_any()
                continue
            refuse_bad_ids(batch, ids, findings, looked_at)
            looked_at += len(batch)
            if not findings:
                for part in halved(batch, most):
                    self.rows += len(part)
                    yield part
        findings.raise_if_any()


def _source(data: Any, findings: Findings) -> Source:
    kinds = "a Table, a RecordBatch, a reader, a data frame, or mappings, one for each row"
    frame = frame_source(data)
    if frame is not None:
        return frame
    try:
        source = arrow_source(data)
    except pa.ArrowException as failure:
        findings.add("*", f"should be {kinds}, found {type(data).__name__}: {failure}")
        findings.raise_if_any()
    if source is not None:
        return source
    if isinstance(data, Mapping):
        findings.add("*", f"should be {kinds}, found one mapping: put it in a list")
    elif hasattr(data, "collect") and hasattr(data, "collect_schema"):
        findings.add("*", f"should be {kinds}, found a lazy frame: call its collect() first")
    elif isinstance(data, str | bytes) or not isinstance(data, Iterable):
        findings.add("*", f"should be {kinds}, found {type(data).__name__} {short(data)}")
    return RowSource(data if isinstance(data, Iterable) else ())
