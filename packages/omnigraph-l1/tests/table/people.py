"""The table of these tests, and rows for it. Importable by the processes that tests start."""

from __future__ import annotations

import pyarrow as pa

from omnigraph_l1 import PRIMARY_KEY

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False, metadata={PRIMARY_KEY: b"true"}),
        pa.field("age", pa.int32()),
        pa.field("city", pa.string()),
    ],
    metadata={b"made by": b"a test"},
)


def rows(*ids: str, age: int | None = 1, city: str | None = "Oslo") -> pa.Table:
    """Make rows with these ids."""
    columns = {"id": list(ids), "age": [age] * len(ids), "city": [city] * len(ids)}
    return pa.table(columns, schema=SCHEMA)


def ids(table: pa.Table) -> list[str]:
    """Give the ids in a table of rows, sorted."""
    return sorted(table["id"].to_pylist())
