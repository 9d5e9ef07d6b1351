"""Data frames of pandas, which is imported by whoever made the frame, never by us.

Always: what pandas takes for missing (NaN, NaT, NA, None) is null. An index that has a name is a
column, one without a name is dropped, as pandas itself does elsewhere. Columns of Python objects
are read value by value, with the same rules as mappings.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from omnigraph_l2._data.casting import cast_column
from omnigraph_l2._data.findings import Findings
from omnigraph_l2._data.python_values import python_column
from omnigraph_l2._data.slicing import Pace
from omnigraph_l2._data.sources import check_columns, narrowed
from omnigraph_l2._data.type_rules import type_obstacles

__all__ = ["FrameSource", "frame_source"]


def frame_source(data: Any) -> FrameSource | None:
    """Take a frame of pandas, if it is one."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(data, pandas.DataFrame):
        return None
    named = [level for level in data.index.names if level is not None]
    return FrameSource(data.reset_index(level=named, allow_duplicates=True) if named else data)


class FrameSource:
    """A frame, taken some rows at a time."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._names = list(frame.columns)

    def prepare(self, wanted: pa.Schema, findings: Findings, *, may_lack: bool) -> pa.Schema:
        """Compare the columns, and the types of those that have one."""
        check_columns(self._names, wanted, findings)
        for position, name in enumerate(self._names):
            column = self._frame.iloc[:, position]
            if name in wanted.names and column.dtype != object:
                self._check_type(column, wanted.field(name), findings)
        return narrowed(wanted, self._names) if may_lack else wanted

    def batches(
        self, schema: pa.Schema, findings: Findings, most: int
    ) -> Iterator[pa.RecordBatch | None]:
        """Turn as many rows at a time as their size allows."""
        pace, start = Pace(most), 0
        while start < len(self._frame):
            part = self._frame.iloc[start : start + pace.rows]
            columns = [self._column(part, field, findings, start) for field in schema]
            batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            start += len(part)
            pace.saw(len(part), batch.nbytes)
            yield batch

    def _check_type(self, column: Any, field: pa.Field, findings: Findings) -> None:
        try:
            found = _arrow(column.iloc[:0]).type
        except (pa.ArrowException, TypeError, ValueError):
            reason = f"should be {field.type}, found {column.dtype}, which Arrow does not have"
            findings.add(field.name, reason)
            return
        for path, reason in type_obstacles(field.name, found, field.type):
            findings.add(path, reason)

    def _column(self, part: Any, field: pa.Field, findings: Findings, start: int) -> pa.Array:
        if field.name not in self._names:
            return pa.nulls(len(part), field.type)
        column = part.iloc[:, self._names.index(field.name)]
        if column.dtype == object:
            values = column.where(column.notna(), None).tolist()
            return python_column(values, field, findings, lambda index: start + index)
        return cast_column(_arrow(column), field, findings, start)


def _arrow(column: Any) -> pa.Array:
    array = pa.array(column, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
