"""Lance's own record of a commit, read from its bytes.

White-box: whatever bytes a file holds are drawn, and parsed by a pure module.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from provocations import SCHEMA, rows

from omnigraph_l1 import Table
from omnigraph_l1._lance.transaction_records import Record, parse_record, record_name

NUMBERS = st.integers(0, 2**64 - 1)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@given(st.binary(max_size=300))
def test_bytes_that_are_no_record_are_refused_as_such(data: bytes) -> None:
    """Whatever the file holds: a record or a ``ValueError``, nothing else."""
    try:
        found = parse_record(data)
    except ValueError:
        return
    assert found.uuid
    assert found.operation


@given(NUMBERS, WORDS.filter(bool), st.dictionaries(WORDS, WORDS), st.integers(0, 20), st.binary())
def test_a_record_says_what_was_written(
    read_version: int, uuid: str, properties: dict[str, str], operation: int, content: bytes
) -> None:
    """Written by a second implementation, with fields in between that nobody knows."""
    written = b"".join([
        _number(1, read_version),
        _bytes(77, b"unknown"),
        _bytes(2, uuid.encode()),
        _number(78, 5),
        *(_bytes(4, _bytes(1, k.encode()) + _bytes(2, v.encode())) for k, v in properties.items()),
        _varint(79 << 3 | 1) + bytes(8) + _varint(80 << 3 | 5) + bytes(4),
        _bytes(100 + operation, content),
    ])  # fmt: skip
    found = parse_record(written)
    assert (found.uuid, found.read_version, found.properties) == (uuid, read_version, properties)
    if operation > 15:
        assert found.operation == f"field {100 + operation}"
    with pytest.raises(ValueError, match=r"cut off|names no id"):
        parse_record(written[: -1 - len(content)])


def test_records_of_lance_are_read_as_lance_shows_them(tmp_path: Path) -> None:
    """Each record that pylance can show: the same id, operation, version and properties."""
    table = Table.create(tmp_path / "t", SCHEMA)
    table = table.append(rows("a", "b")).table.upsert(rows("a", "c"), key="id").table
    table = table.delete("id = 'c'").table.create_index("id").table.configure({"k": "v"}).table
    table = table.add_columns([pa.field("nick", pa.string())]).table.drop_columns(["nick"]).table
    table = table.restore(2).table
    versions = table.location.local_path / "_versions"
    for version in table.versions():
        shown: Any = table.dataset.read_transaction(version)
        name = record_name((versions / f"{2**64 - 1 - version}.manifest").read_bytes())
        assert name == f"{shown.read_version}-{shown.uuid}.txn"
        read = parse_record((table.location.local_path / "_transactions" / name).read_bytes())
        assert read == Record(
            uuid=shown.uuid,
            operation=type(shown.operation).__name__,
            read_version=shown.read_version,
            properties=shown.transaction_properties,
        )


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field * 8) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field * 8 + 2) + _varint(len(value)) + value
