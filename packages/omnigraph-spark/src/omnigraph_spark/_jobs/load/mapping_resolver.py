"""Resolve a mapping against the graph and the files: one expression for each column of a table.

Invariant: all problems of all tables are found before any row is read. The resulting types fit;
``row_validation`` decides about each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql import types as sql

from omnigraph_l2 import GraphSchema
from omnigraph_spark._jobs.load.cast_conditions import type_kind
from omnigraph_spark._jobs.load.column_casts import (
    ColumnCast,
    IncompatibleTypes,
    cast_column,
    spark_type,
)
from omnigraph_spark._jobs.load.load_mapping import (
    ColumnName,
    Expression,
    LoadMapping,
    TableMapping,
    Template,
    ValueSource,
)
from omnigraph_spark._jobs.load.mapping_parser import suggest
from omnigraph_spark._jobs.load.row_hashes import hash_edge
from omnigraph_spark._jobs.load.source_files import SourceFiles, column, open_source, quiet_planner
from omnigraph_spark._jobs.step_errors import summarize_error
from omnigraph_spark.errors import InvalidMapping, UnsupportedTypes

__all__ = ["ENDS", "ID", "ResolvedColumn", "ResolvedTable", "resolve_mapping"]

ID: Final = "id"
ENDS: Final = ("src", "dst")
_TEXTS: Final = {"text", "whole", "truth", "decimal", "date"}


@attrs.frozen(kw_only=True)
class ResolvedColumn:
    """The value of one column of the table."""

    field: pa.Field
    raw: Column
    cast: ColumnCast
    shown: Column
    """What was found, for a person."""


@attrs.frozen(kw_only=True)
class ResolvedTable:
    """One table: its files, and the value of each of its columns."""

    mapping: TableMapping
    source: SourceFiles
    values: Mapping[str, ResolvedColumn]
    """``id``, the ends of edges, and the properties that are loaded, in the table's order."""
    where: Column | None
    order: tuple[Column, ...]
    unused: tuple[str, ...]
    """The columns of the files that nothing names."""


def resolve_mapping(
    spark: SparkSession, mapping: LoadMapping, schema: GraphSchema, base: str
) -> list[ResolvedTable]:
    """Resolve all tables, or raise ``InvalidMapping`` with every problem."""
    problems: list[str] = []
    found = []
    with quiet_planner():
        for table in mapping.tables:
            resolver = _TableResolver(spark, table, schema, base)
            one = resolver.resolve()
            problems += resolver.problems
            if one is not None:
                found.append(one)
    if problems:
        raise InvalidMapping(problems=tuple(problems))
    return found


class _Unknown(Exception):
    """A value cannot be resolved; the problem was added."""


class _TableResolver:
    def __init__(
        self, spark: SparkSession, table: TableMapping, schema: GraphSchema, base: str
    ) -> None:
        self._spark = spark
        self._table = table
        self._schema = schema
        self._base = base
        self._values: dict[str, ResolvedColumn] = {}
        self._used: set[str] = set()
        self.problems: list[str] = []

    def resolve(self) -> ResolvedTable | None:
        table = self._table
        if table.table not in self._schema:
            known = [each.table_key for each in self._schema.types]
            self._wrong(
                "table", f"{table.table!r} is not in the graph{suggest(table.table, known)}"
            )
            return None
        wanted = self._schema[table.table].arrow_schema
        properties = [field for field in wanted if field.name not in (ID, *ENDS)]
        for name in table.columns:
            names = [field.name for field in properties]
            if name not in names:
                self._wrong(f"columns.{name}", f"is no property of it{suggest(name, names)}")
        try:
            self._source = open_source(self._spark, table, self._base)
        except PySparkException as error:
            self._wrong("files", f"cannot be read: {summarize_error(error)}")
            return None
        for field in properties:
            self._property(field)
        if table.is_edge:
            for name, source in zip(ENDS, (table.src, table.dst), strict=True):
                self._text(wanted.field(name), source or ColumnName(name))
        self._id(wanted.field(ID))
        where = self._where()
        order = self._order()
        if self.problems:
            return None
        used = self._used | self._names_in_sql()
        return ResolvedTable(
            mapping=table,
            source=self._source,
            values={name: self._values[name] for name in wanted.names if name in self._values},
            where=where,
            order=order,
            unused=tuple(name for name in self._source.columns if name not in used),
        )

    def _wrong(self, key: str, what: str) -> None:
        self.problems.append(f"{self._table.position}.{key} {what}")

    def _property(self, field: pa.Field) -> None:
        source = self._table.columns.get(field.name)
        if source is None and field.name not in self._source.columns:
            if not field.nullable:
                there = suggest(field.name, list(self._source.columns))
                self._wrong(
                    f"columns.{field.name}",
                    f"is missing: {field.name!r} is required, and the files have no column of "
                    f"that name{there}",
                )
            return
        location = f"columns.{field.name}"
        try:
            raw, found = self._resolve_source(location, source or ColumnName(field.name))
            made = cast_column(raw, found, field.type)
            _ = self._source.frame.select(made.value).schema
        except PySparkException as error:
            self._wrong(location, f"cannot be made a {field.type} here: {summarize_error(error)}")
        except IncompatibleTypes as reason:
            self._wrong(location, f"{reason}: say {{ expr = '…' }} in Spark SQL")
        except UnsupportedTypes as error:
            self._wrong(location, f"cannot be loaded by Spark: {'; '.join(error.problems)}")
        except _Unknown:
            return
        else:
            shown = raw.cast("string") if type_kind(found) in _TEXTS | {"float"} else None
            self._values[field.name] = ResolvedColumn(
                field=field, raw=raw, cast=made, shown=F.lit("…") if shown is None else shown
            )

    def _id(self, field: pa.Field) -> None:
        said = self._table.id is not None or ID in self._source.columns
        if self._table.is_edge and not said:
            if self.problems:
                return  # it is made of the others
            names = sorted(name for name in self._values if name not in ENDS)
            made = hash_edge(
                {
                    name: (each.cast.value, spark_type(each.field.type))
                    for name in (*ENDS, *names)
                    for each in [self._values[name]]
                }
            )
            self._take(field, made)
            return
        self._text(field, self._table.id or ColumnName(ID))

    def _text(self, field: pa.Field, source: ValueSource) -> None:
        try:
            raw, found = self._resolve_source(field.name, source, with_properties=True)
            self._take(field, self._as_text(field.name, raw, found))
        except _Unknown:
            return

    def _take(self, field: pa.Field, text: Column) -> None:
        fits = ColumnCast(text, F.is_valid_utf8(text))
        self._values[field.name] = ResolvedColumn(field=field, raw=text, cast=fits, shown=text)

    def _resolve_source(
        self, location: str, source: ValueSource, *, with_properties: bool = False
    ) -> tuple[Column, sql.DataType]:
        if isinstance(source, Expression):
            return self._expression(location, source.sql)
        if isinstance(source, ColumnName):
            return self._resolve_name(location, source.name, with_properties=with_properties)
        assert isinstance(source, Template)  # noqa: S101 - there are these three
        parts = [
            F.lit(part) if isinstance(part, str)
            else self._as_text(
                location, *self._resolve_name(location, part.name, with_properties=True)
            )
            for part in source.parts
        ]  # fmt: skip
        return F.concat(*parts), sql.StringType()

    def _resolve_name(
        self, location: str, name: str, *, with_properties: bool
    ) -> tuple[Column, sql.DataType]:
        """Find a loaded property, where these take precedence, or a column."""
        if with_properties and name in self._values and name != location:
            self._used.add(name)
            value = self._values[name]
            return value.cast.value, spark_type(value.field.type)
        if name not in self._source.columns:
            known = self._known_names(with_properties=with_properties)
            self._wrong(location, f"names {name!r}{suggest(name, known)}")
            raise _Unknown
        self._used.add(name)
        return column(name), self._source.columns[name]

    def _known_names(self, *, with_properties: bool) -> list[str]:
        own = list(self._values) if with_properties else []
        return list(dict.fromkeys([*own, *self._source.columns]))

    def _as_text(self, location: str, raw: Column, found: sql.DataType) -> Column:
        if type_kind(found) not in _TEXTS:
            self._wrong(
                location,
                f"is made of {found.simpleString()}, of which there is no one text: say "
                "{ expr = '…' } in Spark SQL",
            )
            raise _Unknown
        return raw.cast("string")

    def _expression(self, location: str, text: str) -> tuple[Column, sql.DataType]:
        frame = self._source.frame
        try:
            made = F.expr(text)
            # As an argument of an aggregate Spark refuses what is not the same each time.
            _ = frame.agg(F.count(made)).schema
            return made, frame.select(made).schema[0].dataType
        except PySparkException as error:
            self._wrong(location, f"cannot be used: {summarize_error(error)}")
            raise _Unknown from error

    def _where(self) -> Column | None:
        if self._table.where is None:
            return None
        try:
            made, found = self._expression("where", self._table.where)
        except _Unknown:
            return None
        if not isinstance(found, sql.BooleanType):
            self._wrong("where", f"should be a condition, found {found.simpleString()}")
        return made

    def _order(self) -> tuple[Column, ...]:
        keys = []
        for each in self._table.order_by:
            try:
                key, found = self._resolve_name("order_by", each.name, with_properties=True)
            except _Unknown:
                continue
            if type_kind(found) == "map":
                self._wrong("order_by", f"names {each.name!r}, and maps have no order")
            keys.append(key)
        return tuple(keys)

    def _names_in_sql(self) -> set[str]:
        """Guess which columns the expressions use; only for a progress line."""
        texts = [each.sql for each in self._sources() if isinstance(each, Expression)]
        texts.append(self._table.where or "")
        return {name for name in self._source.columns if any(name in text for text in texts)}

    def _sources(self) -> Iterable[ValueSource | None]:
        return (*self._table.columns.values(), self._table.id, self._table.src, self._table.dst)
