"""The mapping of a load: which files become which tables.

Invariant: values are frozen and as written by the user, not yet compared with a graph or files.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import attrs

__all__ = [
    "APPEND",
    "DUPLICATES",
    "FORMATS",
    "MISSING_ENDS",
    "MODES",
    "OVERWRITE",
    "UPSERT",
    "ColumnName",
    "Expression",
    "LoadMapping",
    "RejectLimit",
    "SortKey",
    "TableMapping",
    "Template",
    "ValueSource",
]

APPEND, UPSERT, OVERWRITE = "append", "upsert", "overwrite"
MODES: Final = (APPEND, UPSERT, OVERWRITE)
FORMATS: Final = ("parquet", "csv", "ndjson")
DUPLICATES: Final = ("reject", "first", "same")
MISSING_ENDS: Final = ("reject", "fail")


@attrs.frozen
class ColumnName:
    """A column of the files. In templates and sort keys, a loaded property takes precedence."""

    name: str


@attrs.frozen
class Expression:
    """An expression in Spark SQL over the columns of the files."""

    sql: str


@attrs.frozen
class Template:
    """Text with names in braces: ``{name}@{architecture}``."""

    parts: tuple[str | ColumnName, ...]


ValueSource: TypeAlias = "ColumnName | Expression | Template"


@attrs.frozen
class SortKey:
    """A sort key for rows with the same id."""

    name: str
    descending: bool


@attrs.frozen
class RejectLimit:
    """How many rows may be rejected: a number, or a share of the rows that are read."""

    rows: int = 0
    share: float | None = None

    def of(self, read: int) -> int:
        """Return the number of rows for a number of rows read."""
        return self.rows if self.share is None else int(read * self.share)

    def __str__(self) -> str:
        return str(self.rows) if self.share is None else f"{self.share:.6g} of the rows"


def _options(values: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(values))


def _columns(values: Mapping[str, ValueSource]) -> Mapping[str, ValueSource]:
    return MappingProxyType(dict(values))


@attrs.frozen(kw_only=True)
class TableMapping:
    """How files become the rows of one table."""

    position: str
    """Where it stands in the mapping, for messages: ``tables[0]``."""
    table: str
    files: tuple[str, ...]
    format: str
    options: Mapping[str, str] = attrs.field(factory=dict, converter=_options)
    schema: str | None = None
    mode: str = APPEND
    id: ValueSource | None = None
    src: ValueSource | None = None
    dst: ValueSource | None = None
    columns: Mapping[str, ValueSource] = attrs.field(factory=dict, converter=_columns)
    where: str | None = None
    duplicates: str = "reject"
    order_by: tuple[SortKey, ...] = ()
    missing_ends: str | None = None

    @property
    def is_edge(self) -> bool:
        """Whether the table holds edges."""
        return self.table.startswith("edge:")


@attrs.frozen(kw_only=True)
class LoadMapping:
    """A whole mapping."""

    tables: tuple[TableMapping, ...]
    max_rejects: RejectLimit = attrs.field(factory=RejectLimit)
