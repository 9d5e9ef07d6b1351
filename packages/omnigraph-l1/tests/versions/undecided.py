"""Tables in a store that ignores conditions, and what other processes do to them.

A test module has no name that another process can import; this module has.
"""

from __future__ import annotations

import pyarrow as pa

from omnigraph_l1 import PRIMARY_KEY, JsonRefs, Storage, Table
from omnigraph_l1.errors import CommitConflict

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False, metadata={PRIMARY_KEY: b"true"}),
        pa.field("n", pa.int64()),
    ]
)


def rows(*ids: str, n: int = 1) -> pa.Table:
    """Make rows with these ids."""
    return pa.table({"id": list(ids), "n": [n] * len(ids)}, schema=SCHEMA)


def ids(table: Table) -> list[str]:
    """Return the ids in a table, sorted."""
    found: list[str] = table.read(columns=["id"])["id"].to_pylist()
    return sorted(found)


def create_one(storage: Storage) -> None:
    """Make the table."""
    Table.create(storage, SCHEMA)


def append_many(storage: Storage, writer: int, count: int) -> list[int]:
    """Add rows, one commit each, beside others; give the versions."""
    made = []
    for number in range(count):
        row = rows(f"{writer}-{number}")
        while True:
            try:
                made.append(Table.open(storage).append(row).version)
            except CommitConflict:
                continue
            break
    return made


def insert_first(storage: Storage, writer: int, keys: int) -> list[str]:
    """Insert each key unless another was first; give those that were one's own."""
    mine = []
    for key in range(keys):
        name = f"k{key}"
        while name not in ids(table := Table.open(storage)):
            try:
                table.cas_merge(rows(name, n=writer), key="id", write_id=f"{writer} {key}")
            except CommitConflict:
                continue
            mine.append(name)
            break
    return mine


def count_up(storage: Storage, times: int) -> None:
    """Add one to a number in a ref, so many times."""
    refs = JsonRefs.open(storage, "_refs/tests")
    from omnigraph_l1.errors import RefChanged  # noqa: PLC0415 - what others may be first with

    done = 0
    while done < times:
        ref = refs.get("counter")
        assert ref is not None
        try:
            refs.replace(ref, {"n": ref.value["n"] + 1})
        except RefChanged:
            continue
        done += 1
