"""Rows of files, before they are converted to the types of a table.

Invariant: any slice of rows can be converted by itself, so bisection finds the rows that do not
fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

import pyarrow as pa
from attrs import frozen

from omnigraph_l2._cli.formats.arrow_to_json import json_rows, json_values
from omnigraph_l2._cli.formats.json_to_arrow import Unfit, convert_json, convert_text
from omnigraph_l2.errors import DataProblem, InvalidData

__all__ = ["ArrowRows", "JsonRows", "Rows", "TextRows"]


class Rows(Protocol):
    """Some rows of a file."""

    @property
    def has_header(self) -> bool:
        """Whether all rows of the file have the same columns."""

    @property
    def names(self) -> Sequence[str]:
        """The columns of the first row."""

    def __len__(self) -> int: ...

    def cut(self, start: int, length: int) -> Rows:
        """Return a slice of the rows."""

    def batch(self, key: str, wanted: pa.Schema, names: Sequence[str] | None) -> pa.RecordBatch:
        """Convert the rows to the types of a table, or raise ``InvalidData``.

        ``names`` are the columns that each row must have; if it is None, missing values are null.
        """

    def as_json(self) -> list[dict[str, Any]]:
        """Return the rows as they are in the file."""

    def columns(self) -> dict[str, list[Any]]:
        """Return all values of each column; a missing value is None."""


@frozen
class _Columns:
    """Rows of a file in which all rows have the same columns."""

    _batch: pa.RecordBatch

    @property
    def has_header(self) -> bool:
        """Whether all rows of the file have the same columns."""
        return True

    @property
    def names(self) -> Sequence[str]:
        """The columns of the rows."""
        return list(self._batch.schema.names)

    def __len__(self) -> int:
        return len(self._batch)

    def cut(self, start: int, length: int) -> Self:
        """Return a slice of the rows."""
        return type(self)(self._batch.slice(start, length))


@frozen
class ArrowRows(_Columns):
    """Rows that have Arrow types already."""

    def batch(self, key: str, wanted: pa.Schema, names: Sequence[str] | None) -> pa.RecordBatch:
        """Return the rows unchanged: the repository checks the types."""
        del key, wanted, names
        return self._batch

    def as_json(self) -> list[dict[str, Any]]:
        """Return the rows as JSON values."""
        return list(json_rows(self._batch))

    def columns(self) -> dict[str, list[Any]]:
        """Return all values of each column."""
        return {name: json_values(self._batch.column(name)) for name in self.names}

    def types(self) -> dict[str, pa.DataType]:
        """Return the type of each column."""
        return {field.name: field.type for field in self._batch.schema}


@frozen
class TextRows(_Columns):
    """Rows of CSV: columns of text."""

    def batch(self, key: str, wanted: pa.Schema, names: Sequence[str] | None) -> pa.RecordBatch:
        """Convert text to the types of the table; unknown columns stay text."""
        del names
        types = {field.name: field.type for field in wanted}
        return _convert_columns(
            key,
            self.names,
            lambda name: convert_text(self._batch.column(name), types.get(name, pa.string())),
        )

    def as_json(self) -> list[dict[str, Any]]:
        """Return the rows: all values are text."""
        return list(self._batch.to_pylist())

    def columns(self) -> dict[str, list[Any]]:
        """Return all values of each column."""
        return dict(self._batch.to_pydict())


@frozen
class JsonRows:
    """Rows of NDJSON: objects."""

    _rows: list[dict[str, Any]]

    @property
    def has_header(self) -> bool:
        """Whether all rows of the file have the same columns."""
        return False

    @property
    def names(self) -> Sequence[str]:
        """The columns of the first row."""
        return list(self._rows[0]) if self._rows else []

    def __len__(self) -> int:
        return len(self._rows)

    def cut(self, start: int, length: int) -> JsonRows:
        """Return a slice of the rows."""
        return JsonRows(self._rows[start : start + length])

    def batch(self, key: str, wanted: pa.Schema, names: Sequence[str] | None) -> pa.RecordBatch:
        """Convert the values to the types of the table."""
        types = {field.name: field.type for field in wanted}
        problems = self._problems(key, types, names)
        if problems:
            raise InvalidData(table_key=key, problems=tuple(problems))
        return _convert_columns(
            key,
            list(types if names is None else names),
            lambda name: convert_json([row.get(name) for row in self._rows], types[name]),
        )

    def as_json(self) -> list[dict[str, Any]]:
        """Return the rows."""
        return list(self._rows)

    def columns(self) -> dict[str, list[Any]]:
        """Return all values of each column; a missing value is None."""
        names = dict.fromkeys(name for row in self._rows for name in row)
        return {name: [row.get(name) for row in self._rows] for name in names}

    def _problems(
        self, key: str, types: Mapping[str, pa.DataType], names: Sequence[str] | None
    ) -> list[DataProblem]:
        """Return a problem for each unknown name, and for each that only some rows have."""
        found = set().union(*self._rows)
        known = ", ".join(map(repr, types))
        problems = [
            DataProblem(name, f"is not a column of {key}, which has {known}")
            for name in sorted(found - types.keys())
        ]
        if names is not None:
            wrong = [
                name
                for name in types
                if any((name in row) != (name in names) for row in self._rows)
            ]
            problems += [
                DataProblem(name, "is missing in some rows: write null explicitly")
                for name in wrong
            ]
        return problems


def _convert_columns(
    key: str, names: Sequence[str], column: Callable[[str], pa.Array]
) -> pa.RecordBatch:
    """Convert each column, or raise ``InvalidData`` with all problems."""
    columns: list[pa.Array] = []
    problems: list[DataProblem] = []
    for name in names:
        try:
            columns.append(column(name))
        except Unfit as error:
            problems.append(DataProblem(name, str(error)))
    if problems:
        raise InvalidData(table_key=key, problems=tuple(problems))
    return pa.RecordBatch.from_arrays(columns, names=list(names))
