"""A mapping compared with the graph and with the files: each value of a table as an expression.

Always: all problems are found, of all tables, before any row is read. What comes out has types
that fit; whether each row does is for ``judging``.
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
from omnigraph_spark._jobs.failing import brief
from omnigraph_spark._jobs.loading.casting import Cast, Unfit, cast, spark_type
from omnigraph_spark._jobs.loading.exactness import kind_of
from omnigraph_spark._jobs.loading.hashing import edge_id
from omnigraph_spark._jobs.loading.mapping import (
    Expression,
    LoadMapping,
    Name,
    Origin,
    TableMapping,
    Template,
)
from omnigraph_spark._jobs.loading.parsing import guess
from omnigraph_spark._jobs.loading.sources import Source, column, opened, planning
from omnigraph_spark.errors import InvalidMapping, UnsupportedTypes

__all__ = ["ENDS", "ID", "Fitted", "Value", "fitted"]

ID: Final = "id"
ENDS: Final = ("src", "dst")
_TEXTS: Final = {"text", "whole", "truth", "decimal", "date"}


@attrs.frozen(kw_only=True)
class Value:
    """What a column of the table gets."""

    field: pa.Field
    given: Column
    cast: Cast
    shown: Column
    """What was found, for a person."""


@attrs.frozen(kw_only=True)
class Fitted:
    """One table: its files, and what each of its columns gets."""

    mapping: TableMapping
    source: Source
    values: Mapping[str, Value]
    """``id``, the ends of edges, and the properties that are loaded, in the table's order."""
    where: Column | None
    order: tuple[Column, ...]
    unused: tuple[str, ...]
    """The columns of the files that nothing names."""


def fitted(
    spark: SparkSession, mapping: LoadMapping, schema: GraphSchema, base: str
) -> list[Fitted]:
    """Compare, or raise ``InvalidMapping`` with every problem."""
    problems: list[str] = []
    found = []
    with planning():
        for table in mapping.tables:
            fitting = _Fitting(spark, table, schema, base)
            one = fitting.fit()
            problems += fitting.problems
            if one is not None:
                found.append(one)
    if problems:
        raise InvalidMapping(problems=tuple(problems))
    return found


class _Unknown(Exception):
    """A value cannot be found; why was noted."""


class _Fitting:
    def __init__(
        self, spark: SparkSession, table: TableMapping, schema: GraphSchema, base: str
    ) -> None:
        self._spark = spark
        self._table = table
        self._schema = schema
        self._base = base
        self._values: dict[str, Value] = {}
        self._used: set[str] = set()
        self.problems: list[str] = []

    def fit(self) -> Fitted | None:
        table = self._table
        if table.table not in self._schema:
            known = [each.table_key for each in self._schema.types]
            self._wrong("table", f"{table.table!r} is not in the graph{guess(table.table, known)}")
            return None
        wanted = self._schema[table.table].arrow_schema
        properties = [field for field in wanted if field.name not in (ID, *ENDS)]
        for name in table.columns:
            names = [field.name for field in properties]
            if name not in names:
                self._wrong(f"columns.{name}", f"is no property of it{guess(name, names)}")
        try:
            self._source = opened(self._spark, table, self._base)
        except PySparkException as error:
            self._wrong("files", f"cannot be read: {brief(error)}")
            return None
        for field in properties:
            self._property(field)
        if table.is_edge:
            for name, origin in zip(ENDS, (table.src, table.dst), strict=True):
                self._text(wanted.field(name), origin or Name(name))
        self._id(wanted.field(ID))
        where = self._where()
        order = self._order()
        if self.problems:
            return None
        used = self._used | self._named_in_sql()
        return Fitted(
            mapping=table,
            source=self._source,
            values={name: self._values[name] for name in wanted.names if name in self._values},
            where=where,
            order=order,
            unused=tuple(name for name in self._source.columns if name not in used),
        )

    def _wrong(self, key: str, what: str) -> None:
        self.problems.append(f"{self._table.place}.{key} {what}")

    def _property(self, field: pa.Field) -> None:
        origin = self._table.columns.get(field.name)
        if origin is None and field.name not in self._source.columns:
            if not field.nullable:
                there = guess(field.name, list(self._source.columns))
                self._wrong(
                    f"columns.{field.name}",
                    f"is missing: {field.name!r} is required, and the files have no column of "
                    f"that name{there}",
                )
            return
        place = f"columns.{field.name}"
        try:
            given, found = self._origin(place, origin or Name(field.name))
            made = cast(given, found, field.type)
            _ = self._source.frame.select(made.value).schema
        except PySparkException as error:
            self._wrong(place, f"cannot be made a {field.type} here: {brief(error)}")
        except Unfit as reason:
            self._wrong(place, f"{reason}: say {{ expr = '…' }} in Spark SQL")
        except UnsupportedTypes as error:
            self._wrong(place, f"cannot be loaded by Spark: {'; '.join(error.problems)}")
        except _Unknown:
            return
        else:
            shown = given.cast("string") if kind_of(found) in _TEXTS | {"float"} else None
            self._values[field.name] = Value(
                field=field, given=given, cast=made, shown=F.lit("…") if shown is None else shown
            )

    def _id(self, field: pa.Field) -> None:
        said = self._table.id is not None or ID in self._source.columns
        if self._table.is_edge and not said:
            if self.problems:
                return  # it is made of the others
            names = sorted(name for name in self._values if name not in ENDS)
            made = edge_id(
                {
                    name: (each.cast.value, spark_type(each.field.type))
                    for name in (*ENDS, *names)
                    for each in [self._values[name]]
                }
            )
            self._take(field, made)
            return
        self._text(field, self._table.id or Name(ID))

    def _text(self, field: pa.Field, origin: Origin) -> None:
        try:
            given, found = self._origin(field.name, origin, beside=True)
            self._take(field, self._as_text(field.name, given, found))
        except _Unknown:
            return

    def _take(self, field: pa.Field, text: Column) -> None:
        fits = Cast(text, F.is_valid_utf8(text))
        self._values[field.name] = Value(field=field, given=text, cast=fits, shown=text)

    def _origin(
        self, place: str, origin: Origin, *, beside: bool = False
    ) -> tuple[Column, sql.DataType]:
        if isinstance(origin, Expression):
            return self._expression(place, origin.sql)
        if isinstance(origin, Name):
            return self._named(place, origin.name, beside=beside)
        assert isinstance(origin, Template)  # noqa: S101 - there are these three
        parts = [
            F.lit(part) if isinstance(part, str)
            else self._as_text(place, *self._named(place, part.name, beside=True))
            for part in origin.parts
        ]  # fmt: skip
        return F.concat(*parts), sql.StringType()

    def _named(self, place: str, name: str, *, beside: bool) -> tuple[Column, sql.DataType]:
        """Find a property as it is loaded, where they come first, or else a column."""
        if beside and name in self._values and name != place:
            self._used.add(name)
            value = self._values[name]
            return value.cast.value, spark_type(value.field.type)
        if name not in self._source.columns:
            self._wrong(place, f"names {name!r}{guess(name, self._known(beside=beside))}")
            raise _Unknown
        self._used.add(name)
        return column(name), self._source.columns[name]

    def _known(self, *, beside: bool) -> list[str]:
        own = list(self._values) if beside else []
        return list(dict.fromkeys([*own, *self._source.columns]))

    def _as_text(self, place: str, given: Column, found: sql.DataType) -> Column:
        if kind_of(found) not in _TEXTS:
            self._wrong(
                place,
                f"is made of {found.simpleString()}, of which there is no one text: say "
                "{ expr = '…' } in Spark SQL",
            )
            raise _Unknown
        return given.cast("string")

    def _expression(self, place: str, text: str) -> tuple[Column, sql.DataType]:
        frame = self._source.frame
        try:
            made = F.expr(text)
            # As an argument of an aggregate Spark refuses what is not the same each time.
            _ = frame.agg(F.count(made)).schema
            return made, frame.select(made).schema[0].dataType
        except PySparkException as error:
            self._wrong(place, f"cannot be used: {brief(error)}")
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
                key, found = self._named("order_by", each.name, beside=True)
            except _Unknown:
                continue
            if kind_of(found) == "map":
                self._wrong("order_by", f"names {each.name!r}, and maps have no order")
            keys.append(key)
        return tuple(keys)

    def _named_in_sql(self) -> set[str]:
        """Guess which columns expressions name; it is only for a line to a person."""
        texts = [each.sql for each in self._origins() if isinstance(each, Expression)]
        texts.append(self._table.where or "")
        return {name for name in self._source.columns if any(name in text for text in texts)}

    def _origins(self) -> Iterable[Origin | None]:
        return (*self._table.columns.values(), self._table.id, self._table.src, self._table.dst)
