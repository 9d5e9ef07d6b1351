"""Lance's record of one commit, read as its specification lays it down. Pure: bytes in, values out.

pylance shows most records, not all: of some operations it gives no name, and of others it fails
to make its own classes. What is needed here are five fields of a protobuf message, so they are
read directly. Invariant: what is unknown is passed over, and what is no record is a ``ValueError``.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from lance import LanceDataset, Transaction

from omnigraph_l1._lance.lance_failures import recognize_failures
from omnigraph_l1._lance.private_hooks import file_name

__all__ = ["Record", "parse_record", "read_transaction", "record_name", "same_change"]

_READ_VERSION, _UUID, _PROPERTIES = 1, 2, 4
_FIRST_OPERATION = 100
_OPERATIONS = (
    "Append", "Delete", "Overwrite", "CreateIndex", "Rewrite", "Merge", "Restore",
    "ReserveFragments", "Update", "Project", "UpdateConfig", "DataReplacement",
    "UpdateMemWalState", "Clone", "UpdateBases", "DataOverlay",
)  # fmt: skip
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_SEVEN_BITS, _MORE = 0x7F, 0x80
_NAME = re.compile(rb"[0-9]+-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.txn")


@attrs.frozen(kw_only=True)
class Record:
    """What a record says of its commit, whatever it changed."""

    uuid: str
    operation: str
    """The name of the operation in Lance's specification, or the number of its field."""
    read_version: int
    properties: Mapping[str, str]


def parse_record(data: bytes) -> Record:
    """Read the file of a record."""
    uuid, operation, read_version = "", "", 0
    properties: dict[str, str] = {}
    for number, value in _fields(data):
        if number == _READ_VERSION and isinstance(value, int):
            read_version = value
        elif number == _UUID and isinstance(value, bytes):
            uuid = value.decode()
        elif number == _PROPERTIES and isinstance(value, bytes):
            entry = dict(_fields(value))
            properties[_text(entry.get(1))] = _text(entry.get(2))
        elif number >= _FIRST_OPERATION and isinstance(value, bytes):
            known = number - _FIRST_OPERATION
            operation = _OPERATIONS[known] if known < len(_OPERATIONS) else f"field {number}"
    if not uuid or not operation:
        msg = "the record names no id, or no operation"
        raise ValueError(msg)
    return Record(uuid=uuid, operation=operation, read_version=read_version, properties=properties)


def record_name(version_file: bytes) -> str | None:
    """Find the name of the record's file in the file of its version."""
    found = _NAME.search(version_file)
    return None if found is None else found[0].decode()


def _text(value: int | bytes | None) -> str:
    return value.decode() if isinstance(value, bytes) else ""


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Return the fields of a message, with numbers as they are and all else as bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == _LENGTH:
            size, at = _varint(data, at)
        elif kind in {_FIXED64, _FIXED32}:
            size = 8 if kind == _FIXED64 else 4
        else:
            msg = f"no message of protobuf: a field of kind {kind} at byte {at}"
            raise ValueError(msg)
        if at + size > len(data):
            msg = f"cut off: field {number} ends at byte {at + size} of {len(data)}"
            raise ValueError(msg)
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & _SEVEN_BITS) << shift
        if not byte & _MORE:
            return value, at
        shift += 7
    msg = f"cut off inside a number at byte {at}"
    raise ValueError(msg)


def read_transaction(dataset: LanceDataset, version: int) -> Transaction | None:
    """Read the record of a version; None if it has none, or one that cannot be shown.

    pylance cannot show a compaction that moved an index.
    """
    try:
        with recognize_failures():
            # It bars other threads from the handle that it is called on.
            return copy.copy(dataset).read_transaction(version)
    except TypeError:
        return None


def same_change(first: Transaction, second: Transaction) -> bool:
    """Return whether two records that bear one id are of one change.

    What Lance may change when it puts a commit on top of others is not compared.
    """
    return _gist(first) == _gist(second)


def _gist(transaction: Transaction) -> tuple[Any, ...]:
    operation: Any = transaction.operation
    created = [*getattr(operation, "fragments", ()), *getattr(operation, "new_fragments", ())]
    # No two writes make files of one name.
    files = sorted(file_name(file) for fragment in created for file in fragment.files)
    details = [getattr(operation, name, None) for name in ("predicate", "version")]
    return type(operation), files, details
