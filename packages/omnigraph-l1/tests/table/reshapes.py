"""The operations that change the shape of a table, in one line each."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from omnigraph_l1 import PRIMARY_KEY, Commit, Table

KEY = PRIMARY_KEY.decode()
STRUCT = pa.struct([("street", pa.string()), ("where", pa.struct([("x", pa.float64())]))])
NICK = pa.field("nick", pa.string(), metadata={b"doc": b"short"})
PLAIN = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int64())])

OPERATIONS: dict[str, Callable[[Table], Commit]] = {
    "add": lambda t: t.add_columns([NICK]),
    "drop": lambda t: t.drop_columns(["age"]),
    "annotate": lambda t: t.annotate(schema_metadata={"stamp": "2"}),
    "replace": lambda t: t.replace_schema(PLAIN),
}
