"""Rows of files, before they have the types of a table.

Always: some rows can be cut into fewer, and each part can be turned into a batch by itself: so that
those that do not fit can be found among the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from attrs import frozen

from omnigraph_l2._cli.work.load.parsing import Unfit, column_of_json, column_of_text
from omnigraph_l2._cli.work.values import json_rows, json_values
from omnigraph_l2.errors import DataProblem, InvalidData

__all__ = ["ArrowRows", "JsonRows", "Rows", "TextRows"]

_Some = TypeVar("_Some", bound="_Columns")


class Rows(Protocol):
    """Some rows of a file."""

    @property
    def has_header(self) -> bool:
        """Whether all rows of the file have the same columns."""

    @property
    def names(self) -> Sequence[str]:
        """The columns of the first of them."""

    def __len__(self) -> int: ...

    def cut(self, start: int, length: int) -> Rows:
        """Give some of them."""

    def batch(self, key: str, wanted: pa.Schema, names: Sequence[str] | None) -> pa.RecordBatch:
        """Give them with the types of a table, or raise ``InvalidData``.

        ``names`` are the columns that each must have; None where what is missing is null.
        """

    def told_all(self) -> list[dict[str, Any]]:
        """Give them as they stand in the file."""

    def columns(self) -> dict[str, list[Any]]:
        """Give all values of each column; None where there is none."""


@frozen
class _Columns:
    """Rows as columns: all of the file have the same."""

    _batch: pa.RecordBatch

    @property
    def has_header(self) -> bool:
        """Whether all rows of the file have the same columns."""
        return True

    @property
    def names(self) -> Sequence[str]:
        """The columns that they have."""
        return list(self._batch.schema.names)

    def __len__(self) -> int:
        return len(self._batch)

    def cut(self: _Some, start: int, length: int) -> _Some:  # noqa: PYI019  # 3.10 has no Self
        """Give some of them."""
        return type(self)(self._batch.slice(start, length))


@frozen
class ArrowRows(_Columns):
    """Rows that have types already."""

    def batch(self, key: str, wanted: pa.Schema, names: Sequence[str] | None) -> pa.RecordBatch:
        """Give them as they are: the repository compares the types."""
        del key, wanted, names
        return self._batch

    def told_all(self) -> list[dict[str, Any]]:
        """Give them as JSON has them."""
        return list(json_rows(self._batch))

    def columns(self) -> dict[str, list[Any]]:
        """Give all values of each column."""
        return {name: json_values(self._batch.column(name)) for name in self.names}

    def types(self) -> dict[str, pa.DataType]:
        """Tell the type of each column."""
        return {field.name: field.type for field in self._batch.schema}


@frozen
class TextRows(_Columns):
    """Rows of CSV: columns of text."""

    def batch(self, key: str, wanted: pa.Schema, names: Sequence[str] | None) -> pa.RecordBatch:
        """Read the text as what the table has; columns that it has not are left as they are."""
        del names
        types = {field.name: field.type for field in wanted}
        return _read(
            key,
            self.names,
            lambda name: column_of_text(self._batch.column(name), types.get(name, pa.string())),
        )

    def told_all(self) -> list[dict[str, Any]]:
        """Give them: all values are text."""
        return list(self._batch.to_pylist())

    def columns(self) -> dict[str, list[Any]]:
        """Give all values of each column."""
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
        """The columns of the first of them."""
        return list(self._rows[0]) if self._rows else []

    def __len__(self) -> int:
        return len(self._rows)

    def cut(self, start: int, length: int) -> JsonRows:
        """Give some of them."""
        return JsonRows(self._rows[start : start + length])

    def batch(self, key: str, wanted: pa.Schema, names: Sequence[str] | None) -> pa.RecordBatch:
        """Read the values as what the table has."""
        types = {field.name: field.type for field in wanted}
        problems = self._problems(key, types, names)
        if problems:
            raise InvalidData(table_key=key, problems=tuple(problems))
        return _read(
            key,
            list(types if names is None else names),
            lambda name: column_of_json([row.get(name) for row in self._rows], types[name]),
        )

    def told_all(self) -> list[dict[str, Any]]:
        """Give them."""
        return list(self._rows)

    def columns(self) -> dict[str, list[Any]]:
        """Give all values of each column; None where a row has none."""
        names = dict.fromkeys(name for row in self._rows for name in row)
        return {name: [row.get(name) for row in self._rows] for name in names}

    def _problems(
        self, key: str, types: Mapping[str, pa.DataType], names: Sequence[str] | None
    ) -> list[DataProblem]:
        """Tell which names there should not be, and which are missing."""
        found = set().union(*self._rows)
        known = ", ".join(map(repr, types))
        problems = [
            DataProblem(name, f"is no column of {key}, which has {known}")
            for name in sorted(found - types.keys())
        ]
        if names is not None:
            wrong = [
                name
                for name in types
                if any((name in row) != (name in names) for row in self._rows)
            ]
            problems += [
                DataProblem(name, "is in some rows and not in others: give null for null")
                for name in wrong
            ]
        return problems


def _read(key: str, names: Sequence[str], column: Callable[[str], pa.Array]) -> pa.RecordBatch:
    """Put columns together, or tell what is wrong with each."""
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
