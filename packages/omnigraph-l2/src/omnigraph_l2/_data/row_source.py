"""Rows that come as mappings of column names to Python values, from a list or one by one.

Always: where columns may be missing, the first row says which there are, and a row that has others
is a problem, for it would be unclear whether it means null. Elsewhere a missing column is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from omnigraph_l2._data.findings import Findings, short
from omnigraph_l2._data.python_values import python_column
from omnigraph_l2._data.slicing import Pace
from omnigraph_l2._data.sources import narrowed

__all__ = ["RowSource"]

Row = Mapping[Any, Any]


class RowSource:
    """Mappings, taken some at a time."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._in_memory = isinstance(rows, Sequence)
        self._rows = iter(rows)
        self._wanted: frozenset[str] = frozenset()
        self._first_decides = False

    def prepare(self, wanted: pa.Schema, findings: Findings, *, may_lack: bool) -> pa.Schema:
        """Look at the first row, if that decides which columns come."""
        del findings  # that a column is missing shows only in the rows
        self._wanted = frozenset(wanted.names)
        first = list(islice(self._rows, 1)) if may_lack else []
        self._rows = chain(first, self._rows)
        if first and isinstance(first[0], Mapping):
            self._first_decides = True
            return narrowed(wanted, first[0])
        return wanted

    def batches(
        self, schema: pa.Schema, findings: Findings, most: int
    ) -> Iterator[pa.RecordBatch | None]:
        """Turn as many rows at a time as their size allows."""
        pace, first_row = Pace(most), 0
        while rows := list(islice(self._rows, pace.rows)):
            if self._all_are_mappings(rows, findings, first_row):
                self._check_names(rows, schema, findings, first_row)
                batch = _batch(rows, schema, findings, first_row)
                pace.saw(len(rows), batch.nbytes)
                yield batch
            first_row += len(rows)
            if not self._in_memory:
                yield None

    def _all_are_mappings(self, rows: list[Any], findings: Findings, first_row: int) -> bool:
        if all(issubclass(kind, Mapping) for kind in set(map(type, rows))):
            return True
        for row, value in enumerate(rows, start=first_row):
            if not isinstance(value, Mapping):
                found = f"{type(value).__name__} {short(value)}"
                findings.add("*", f"should be a mapping of column names, found {found}", row)
        return False

    def _check_names(
        self, rows: list[Row], schema: pa.Schema, findings: Findings, first_row: int
    ) -> None:
        known = set(schema.names)
        for name in sorted(set().union(*rows) - known, key=str):
            here = next(index for index, row in enumerate(rows) if name in row)
            reason = f"is no column of {findings.what}, which has {_listed(schema)}"
            if name in self._wanted:
                reason = "is not in the first row: give it in each row, None for null, or in none"
            findings.add(str(name), reason, first_row + here)
        for field in schema if self._first_decides else ():
            for index, row in enumerate(rows):
                if field.nullable and field.name not in row:
                    reason = "is missing, and is in the first row: give None for null"
                    findings.add(field.name, reason, first_row + index)


def _listed(schema: pa.Schema) -> str:
    return ", ".join(map(repr, schema.names))


def _batch(
    rows: list[Row], schema: pa.Schema, findings: Findings, first_row: int
) -> pa.RecordBatch:
    columns = [
        python_column(
            [row.get(field.name) for row in rows], field, findings, lambda i: first_row + i
        )
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
