"""Ids for edges that have none: a hash of what an edge is.

Always: the same ends and the same properties give the same id, in each session, on each machine,
whatever the order of the columns. A property that is null counts as one that is not there, so that
a graph may get further properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql import types as sql

__all__ = ["edge_id", "signature"]

_HEX_DIGITS: Final = 32
_JSON: Final = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "ignoreNullFields": "false",
}


def edge_id(values: Mapping[str, tuple[Column, sql.DataType]]) -> Column:
    """Make the id; null where an end is."""
    src, dst = (values[name][0] for name in ("src", "dst"))
    return F.when(src.isNotNull() & dst.isNotNull(), F.substring(signature(values), 1, _HEX_DIGITS))


def signature(values: Mapping[str, tuple[Column, sql.DataType]]) -> Column:
    """Hash values, so that only equal ones have one hash: each is told with its length."""
    parts = []
    for name, (value, type_) in values.items():
        text = _text(value, type_)
        told = F.concat(F.lit(f"{name}="), F.length(text).cast("string"), F.lit(":"), text)
        parts.append(F.coalesce(told, F.lit("")))
    return F.sha2(F.concat_ws("|", *parts), 256)


def _text(value: Column, type_: sql.DataType) -> Column:
    if isinstance(type_, sql.FloatType | sql.DoubleType):
        # In base 16: in base 10 versions of Java write one number in several ways.
        return F.when(value.isNotNull(), F.format_string("%a", value))
    if isinstance(type_, sql.TimestampType):
        return F.unix_micros(value).cast("string")
    if isinstance(type_, sql.BinaryType):
        return F.hex(value)
    if isinstance(type_, sql.ArrayType | sql.StructType | sql.MapType):
        return F.to_json(value, _JSON)
    return value.cast("string")
