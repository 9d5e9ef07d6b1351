"""The table of these tests, rows for it, and what other processes do to it.

A test module has no name that another process can import; this module has.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pyarrow as pa

from omnigraph_l1 import PRIMARY_KEY, Table, unique_branch_name
from omnigraph_l1.errors import CommitConflict

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
    """Return the ids in a table of rows, sorted."""
    return sorted(table["id"].to_pylist())


TEARS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "one byte": lambda data: data[:1],
    "half": lambda data: data[: len(data) // 2],
    "last byte lost": lambda data: data[:-1],
    "zeros": lambda data: bytes(len(data)),
    "garbage at the beginning": lambda data: b"\xff" * 16 + data[16:],
    "zeros at the end": lambda data: data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
}


def newest_manifest(table: Table) -> Path:
    """The file of the newest version of main: V2 names sort the newest first."""
    return min((table.location.local_path / "_versions").glob("*.manifest"))


def tear(path: Path, how: str) -> None:
    """Damage a file as a power cut would."""
    path.write_bytes(TEARS[how](path.read_bytes()))


def version_file(table: Table, version: int) -> Path:
    """The file of a version of main."""
    return table.location.local_path / "_versions" / version_name(version)


def version_name(version: int) -> str:
    """The name of the file of a version."""
    return f"{2**64 - 1 - version}.manifest"


def churn(location: Path, rounds: int, done: object) -> None:
    """Create and delete branches, to disturb who lists them."""
    table = Table.open(location)
    for number in range(rounds):
        name = unique_branch_name(f"b{number}")
        table.fork(name)
        table.delete_branch(name)
    done.set()  # type: ignore[attr-defined]


def append_each(location: Path, name: str, rounds: int, meet: Barrier) -> None:
    """Open a torn table together with others, and append, so many times."""
    for round_ in range(rounds):
        meet.wait()
        table = Table.open(location)
        staged = table.stage_append(rows(f"{name}-{round_}"))
        meet.wait()
        while True:
            try:
                table.commit(staged)
            except CommitConflict:
                table = table.refresh()
            else:
                break
        meet.wait()
