"""What was done to a lineage: one record for each version that is left, the newest first.

Always: a record is read when it is asked for, and none is kept, so that memory does not grow with
what the versions hold. A version whose record cannot be read is told as such, and does not hide
the older ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

import attrs
from lance import LanceDataset

from omnigraph_l1._conflicts import TransactionKind
from omnigraph_l1._lance.failures import LanceFailure, lance_calls
from omnigraph_l1._lance.manifest_names import NamingScheme, format_name
from omnigraph_l1._lance.records import Record, parse_record, record_name
from omnigraph_l1._lance.transactions import read_transaction
from omnigraph_l1._places import Storage
from omnigraph_l1._table.listing import VersionFile, version_files
from omnigraph_l1._table.objects import read_object
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1.errors import InvalidRequest, StorageError

__all__ = ["VersionRecord", "history"]

_KINDS = {kind.value: kind for kind in TransactionKind}
_NO_NAME = "BaseOperation"
"""What pylance shows instead of an operation for which it has no class."""


@attrs.frozen(kw_only=True)
class VersionRecord:
    """What made one version."""

    version: int
    committed_at: datetime | None
    """When, by the clock of the writer; None where the version cannot be opened."""
    operation: str | None
    """Lance's name of the operation; None where there is no record, or one that is damaged."""
    kind: TransactionKind | None
    """The same as a value to ask ``conflict`` with; None also where it is not in the rules."""
    transaction_id: str | None
    read_version: int | None
    """The version on which the change was computed."""
    properties: Mapping[str, str] = attrs.field(factory=dict)
    """What was noted with the commit."""
    problem: str | None = None
    """Why there is no record."""


def history(pinned: Pinned, *, limit: int | None = None) -> Iterator[VersionRecord]:
    """Tell what made the pinned version, and those before it that are left, the newest first."""
    wanted: object = limit
    if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, int)):
        reason = f"limit is how many versions to tell of, a whole number, not {limit!r}"
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    if limit is not None and limit < 0:
        reason = f"limit is how many versions to tell of, from 0, not {limit}"
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    return _history(pinned, limit)


def _history(pinned: Pinned, limit: int | None) -> Iterator[VersionRecord]:
    files = (each for each in version_files(pinned) if each.version <= pinned.version)
    chosen = (
        sorted(files, key=_number, reverse=True)
        if limit is None
        else heapq.nlargest(limit, files, key=_number)
    )
    for each in chosen:
        yield _read(pinned, each.version)


def _number(file: VersionFile) -> int:
    return file.version


def _read(pinned: Pinned, version: int) -> VersionRecord:
    pinned.guard.check()
    committed_at: datetime | None = None
    record: Record | None = None
    problem: str | None = None
    try:
        with lance_calls():
            opened = pinned.dataset.checkout_version((pinned.branch, version))
            # Lance gives the time of this machine's zone, without saying so.
            told: Any = opened.get_version()["timestamp"]  # its stub allows a number
            committed_at = told.astimezone(timezone.utc)
        record = _record(pinned, opened)
    except LanceFailure as failure:
        problem = failure.words
    except (StorageError, ValueError) as error:
        problem = str(error)
    if record is None:
        return VersionRecord(
            version=version,
            committed_at=committed_at,
            operation=None,
            kind=None,
            transaction_id=None,
            read_version=None,
            problem=problem or "the version names no record",
        )
    return VersionRecord(
        version=version,
        committed_at=committed_at,
        operation=record.operation,
        kind=_KINDS.get(record.operation),
        transaction_id=record.uuid,
        read_version=record.read_version,
        properties=dict(record.properties),
    )


def _record(pinned: Pinned, opened: LanceDataset) -> Record | None:
    """Read by pylance what it shows; the rest from the record's own file."""
    lineage = (
        pinned.storage if pinned.branch is None else pinned.storage.child(f"tree/{pinned.branch}")
    )
    shown = None
    try:
        shown = read_transaction(opened, opened.version)
    except LanceFailure as failure:
        if failure.symptom is not None:
            raise
    if shown is not None:
        operation = type(shown.operation).__name__
        if operation != _NO_NAME:
            return Record(
                uuid=shown.uuid,
                operation=operation,
                read_version=shown.read_version,
                properties=shown.transaction_properties or {},
            )
        name: str | None = f"{shown.read_version}-{shown.uuid}.txn"
    else:
        name = record_name(_version_file(lineage, opened.version))
    if name is None:
        return None
    found = read_object(lineage, f"_transactions/{name}")
    if found is None:
        msg = f"its record, {name}, is gone"
        raise ValueError(msg)
    return parse_record(found)


def _version_file(lineage: Storage, version: int) -> bytes:
    for scheme in NamingScheme:
        found = read_object(lineage, f"_versions/{format_name(version, scheme)}")
        if found is not None:
            return found
    msg = f"the file of version {version} is gone"
    raise ValueError(msg)
