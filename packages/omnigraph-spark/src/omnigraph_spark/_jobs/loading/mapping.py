"""What a mapping says: which files become which tables, as values. Pure.

Always: frozen, and as the person said it; nothing here was compared with a graph or with files.
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
    "Allowed",
    "Expression",
    "LoadMapping",
    "Name",
    "Order",
    "Origin",
    "TableMapping",
    "Template",
]

APPEND, UPSERT, OVERWRITE = "append", "upsert", "overwrite"
MODES: Final = (APPEND, UPSERT, OVERWRITE)
FORMATS: Final = ("parquet", "csv", "ndjson")
DUPLICATES: Final = ("reject", "first", "same")
MISSING_ENDS: Final = ("reject", "fail")


@attrs.frozen
class Name:
    """A column of the files; in texts and orders, a property that is loaded comes first."""

    name: str


@attrs.frozen
class Expression:
    """A value in Spark SQL, over the columns of the files."""

    sql: str


@attrs.frozen
class Template:
    """Text with names in it: ``{name}@{architecture}``."""

    parts: tuple[str | Name, ...]


Origin: TypeAlias = "Name | Expression | Template"


@attrs.frozen
class Order:
    """What comes first among rows of one id."""

    name: str
    descending: bool


@attrs.frozen
class Allowed:
    """How many rows may be rejected: a number, or a share of those that are read."""

    rows: int = 0
    share: float | None = None

    def of(self, read: int) -> int:
        """Give the number."""
        return self.rows if self.share is None else int(read * self.share)

    def __str__(self) -> str:
        return str(self.rows) if self.share is None else f"{self.share:.6g} of the rows"


def _options(given: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(given))


def _columns(given: Mapping[str, Origin]) -> Mapping[str, Origin]:
    return MappingProxyType(dict(given))


@attrs.frozen(kw_only=True)
class TableMapping:
    """How files become the rows of one table."""

    place: str
    """Where it stands in the mapping, for messages: ``tables[0]``."""
    table: str
    files: tuple[str, ...]
    format: str
    options: Mapping[str, str] = attrs.field(factory=dict, converter=_options)
    schema: str | None = None
    mode: str = APPEND
    id: Origin | None = None
    src: Origin | None = None
    dst: Origin | None = None
    columns: Mapping[str, Origin] = attrs.field(factory=dict, converter=_columns)
    where: str | None = None
    duplicates: str = "reject"
    order_by: tuple[Order, ...] = ()
    missing_ends: str | None = None

    @property
    def is_edge(self) -> bool:
        """Whether it is about edges."""
        return self.table.startswith("edge:")


@attrs.frozen(kw_only=True)
class LoadMapping:
    """All of it."""

    tables: tuple[TableMapping, ...]
    max_rejects: Allowed = attrs.field(factory=Allowed)
