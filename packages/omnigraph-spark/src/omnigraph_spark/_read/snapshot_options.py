"""Find the snapshot, the table and the columns that options select."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import types as sql

from omnigraph_l2 import ReadTarget, Repository, Snapshot
from omnigraph_l2.errors import InvalidRequest
from omnigraph_spark._convert.spark_types import spark_schema
from omnigraph_spark._options.read_options import ReadOptions
from omnigraph_spark.errors import InvalidOptions

__all__ = ["check_schema", "find_snapshot", "pin_table", "select_columns"]


def find_snapshot(repository: Repository, options: ReadOptions) -> Snapshot:
    """Find the snapshot. With a tag and a commit, the tag must name that commit."""
    if options.tag is not None and options.commit is not None:
        found = repository.snapshot(tag=options.tag)
        if found.commit is None or found.commit.graph_commit_id != options.commit:
            reason = "it names another commit now; read the graph again"
            raise InvalidRequest(what=f"tag {options.tag!r}", reason=reason)
        return found
    return repository.snapshot(
        options.branch,
        version=options.version,
        commit=options.commit,
        as_of=options.as_of,
        tag=options.tag,
    )


def pin_table(options: ReadOptions) -> ReadTarget:
    """Find the table at the selected snapshot."""
    with options.location.open() as repository:
        return find_snapshot(repository, options).share(options.table)


def select_columns(target: ReadTarget, columns: Sequence[str] | None) -> pa.Schema:
    """Return the selected columns, or raise ``InvalidOptions`` with every problem."""
    if columns is None:
        return target.schema
    known = target.schema.names
    problems = [
        f"'columns' names {name!r}, which {target.table_key} does not have; it has "
        f"{', '.join(known)}"
        for name in columns
        if name not in known
    ]
    problems += [f"'columns' names {name!r} twice" for name in _find_duplicates(columns)]
    if problems:
        raise InvalidOptions(problems=tuple(problems))
    return pa.schema([target.schema.field(name) for name in columns])


def check_schema(target: ReadTarget, wanted: sql.StructType) -> None:
    """Raise ``InvalidOptions`` unless a schema for ``.schema(…)`` is part of the table's."""
    problems = []
    known = target.schema.names
    for field in wanted:
        if field.name not in known:
            problems.append(
                f"the schema names {field.name!r}, which {target.table_key} does not have; it "
                f"has {', '.join(known)}"
            )
            continue
        column = pa.schema([target.schema.field(field.name)])
        has = spark_schema(column, table_key=target.table_key)[0]
        if not _accepts(field.dataType, has.dataType) or (has.nullable and not field.nullable):
            problems.append(
                f"the schema says that {field.name!r} is {_describe(field)}, and it is "
                f"{_describe(has)}"
            )
    problems += [
        f"the schema names {name!r} twice" for name in _find_duplicates(wanted.fieldNames())
    ]
    if problems:
        raise InvalidOptions(problems=tuple(problems))


def _accepts(wanted: sql.DataType, has: sql.DataType) -> bool:
    """Return whether one type is the other, or the same with more nulls."""
    if isinstance(wanted, sql.ArrayType) and isinstance(has, sql.ArrayType):
        return wanted.containsNull >= has.containsNull and _accepts(
            wanted.elementType, has.elementType
        )
    if isinstance(wanted, sql.MapType) and isinstance(has, sql.MapType):
        return (
            wanted.valueContainsNull >= has.valueContainsNull
            and _accepts(wanted.keyType, has.keyType)
            and _accepts(wanted.valueType, has.valueType)
        )
    if isinstance(wanted, sql.StructType) and isinstance(has, sql.StructType):
        return wanted.fieldNames() == has.fieldNames() and all(
            one.nullable >= other.nullable and _accepts(one.dataType, other.dataType)
            for one, other in zip(wanted, has, strict=True)
        )
    return wanted == has


def _describe(field: sql.StructField) -> str:
    return field.dataType.simpleString() + ("" if field.nullable else " not null")


def _find_duplicates(names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
