"""Finding what a DataFrame reads: once, when it is made.

Always: what is found names one version of one table, and is all that reading needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import types as sql

from omnigraph_l2 import ReadTarget, Repository, Snapshot
from omnigraph_l2.errors import InvalidRequest
from omnigraph_spark._options import Place, ReadOptions
from omnigraph_spark._types import spark_schema
from omnigraph_spark.errors import InvalidOptions

__all__ = ["check_schema", "chosen", "opened", "pinned", "snapshot"]


def opened(place: Place, *, actor: str | None = None) -> Repository:
    """Open a repository, for reading or for writing."""
    return Repository.open(place.uri, dict(place.storage) if place.storage else None, actor)


def snapshot(repository: Repository, options: ReadOptions) -> Snapshot:
    """Find the moment that was asked for. A tag may say which commit it must name."""
    if options.tag is not None and options.commit is not None:
        found = repository.snapshot(tag=options.tag)
        if found.commit is None or found.commit.graph_commit_id != options.commit:
            reason = "it names another commit now; read the graph again"
            raise InvalidRequest(what=f"Reading tag {options.tag!r}", reason=reason)
        return found
    return repository.snapshot(
        options.branch,
        version=options.version,
        commit=options.commit,
        as_of=options.as_of,
        tag=options.tag,
    )


def pinned(options: ReadOptions) -> ReadTarget:
    """Find the table that was asked for, as it is at that moment."""
    with opened(options.place) as repository:
        return snapshot(repository, options).share(options.table)


def chosen(target: ReadTarget, columns: Sequence[str] | None) -> pa.Schema:
    """Give the columns that were asked for, or raise ``InvalidOptions`` with every problem."""
    if columns is None:
        return target.schema
    known = target.schema.names
    problems = [
        f"'columns' names {name!r}, which {target.table_key} does not have; it has "
        f"{', '.join(known)}"
        for name in columns
        if name not in known
    ]
    problems += [f"'columns' names {name!r} twice" for name in _repeated(columns)]
    if problems:
        raise InvalidOptions(problems=tuple(problems))
    return pa.schema([target.schema.field(name) for name in columns])


def check_schema(target: ReadTarget, given: sql.StructType) -> None:
    """Raise ``InvalidOptions`` unless a schema given to ``.schema(…)`` is part of the table's."""
    problems = []
    known = target.schema.names
    for field in given:
        if field.name not in known:
            problems.append(
                f"the schema names {field.name!r}, which {target.table_key} does not have; it "
                f"has {', '.join(known)}"
            )
            continue
        column = pa.schema([target.schema.field(field.name)])
        has = spark_schema(column, table_key=target.table_key)[0]
        if not _holds(field.dataType, has.dataType) or (has.nullable and not field.nullable):
            problems.append(
                f"the schema says that {field.name!r} is {_shown(field)}, and it is {_shown(has)}"
            )
    problems += [f"the schema names {name!r} twice" for name in _repeated(given.fieldNames())]
    if problems:
        raise InvalidOptions(problems=tuple(problems))


def _holds(given: sql.DataType, has: sql.DataType) -> bool:
    """Tell whether one type is the other, or the same with more nulls."""
    if isinstance(given, sql.ArrayType) and isinstance(has, sql.ArrayType):
        return given.containsNull >= has.containsNull and _holds(given.elementType, has.elementType)
    if isinstance(given, sql.MapType) and isinstance(has, sql.MapType):
        return (
            given.valueContainsNull >= has.valueContainsNull
            and _holds(given.keyType, has.keyType)
            and _holds(given.valueType, has.valueType)
        )
    if isinstance(given, sql.StructType) and isinstance(has, sql.StructType):
        return given.fieldNames() == has.fieldNames() and all(
            one.nullable >= other.nullable and _holds(one.dataType, other.dataType)
            for one, other in zip(given, has, strict=True)
        )
    return given == has


def _shown(field: sql.StructField) -> str:
    return field.dataType.simpleString() + ("" if field.nullable else " not null")


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
