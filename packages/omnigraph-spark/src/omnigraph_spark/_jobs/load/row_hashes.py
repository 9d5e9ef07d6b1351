"""Hash rows, and derive ids for edges without an id.

Invariant: equal endpoints and properties give the same id in each session, on each machine, for any
order of columns. A null property counts as absent, so that properties can be added to the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql import types as sql

__all__ = ["hash_edge", "hash_values"]

_HEX_DIGITS: Final = 32
_JSON: Final = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "ignoreNullFields": "false",
}


def hash_edge(values: Mapping[str, tuple[Column, sql.DataType]]) -> Column:
    """Return the id of an edge; null if an endpoint is null."""
    src, dst = (values[name][0] for name in ("src", "dst"))
    return F.when(
        src.isNotNull() & dst.isNotNull(), F.substring(hash_values(values), 1, _HEX_DIGITS)
    )


def hash_values(values: Mapping[str, tuple[Column, sql.DataType]]) -> Column:
    """Hash values such that only equal ones have the same hash: lengths are included."""
    parts = []
    for name, (value, type_) in values.items():
        text = _text(value, type_)
        entry = F.concat(F.lit(f"{name}="), F.length(text).cast("string"), F.lit(":"), text)
        parts.append(F.coalesce(entry, F.lit("")))
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
