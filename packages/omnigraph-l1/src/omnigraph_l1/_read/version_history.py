"""What was done to a lineage: one record for each version that is left, the newest first.

Invariant: a record is read when it is asked for, and none is kept, so that memory does not grow
with what the versions hold. A version whose record cannot be read is reported as such, and does not
hide the older ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

import attrs
from lance import LanceDataset

from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._lance.lance_failures import LanceFailure, recognize_failures
from omnigraph_l1._lance.transaction_records import (
    Record,
    parse_record,
    read_transaction,
    record_name,
)
from omnigraph_l1._lance.version_files import NamingScheme, format_name, parse_name
from omnigraph_l1._storage.location import Storage
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.stored_objects import list_objects, read_object
from omnigraph_l1._transaction_kinds import TransactionKind
from omnigraph_l1.errors import InvalidRequest, StorageError

__all__ = ["VersionFile", "VersionRecord", "history", "version_files"]

_KINDS = {kind.value: kind for kind in TransactionKind}
_NO_NAME = "BaseOperation"
"""What pylance shows instead of an operation for which it has no class."""


@attrs.frozen(kw_only=True)
class VersionRecord:
    """What made one version."""

    version: int
    committed_at: datetime | None
    """When, by the clock of the writer; None if the version cannot be opened."""
    operation: str | None
    """Lance's name of the operation; None if there is no record, or one that is damaged."""
    kind: TransactionKind | None
    """The same as a value to ask ``conflict`` with; None also where it is not in the rules."""
    transaction_id: str | None
    read_version: int | None
    """The version on which the change was computed."""
    properties: Mapping[str, str] = attrs.field(factory=dict)
    """What was noted with the commit."""
    problem: str | None = None
    """Why there is no record."""


@attrs.frozen(kw_only=True)
class VersionFile:
    """The file of one version of a lineage."""

    version: int
    size: int
    modified: datetime
    """When the version was committed, by the store's clock."""


def history(pinned: PinnedDataset, *, limit: int | None = None) -> Iterator[VersionRecord]:
    """Return what made the pinned version, and those before it that are left, the newest first."""
    wanted: object = limit
    if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, int)):
        reason = f"invalid limit {limit!r}: expected a whole number of versions"
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    if limit is not None and limit < 0:
        reason = f"invalid limit {limit}: expected 0 or more"
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    return _history(pinned, limit)


def _history(pinned: PinnedDataset, limit: int | None) -> Iterator[VersionRecord]:
    files = (each for each in version_files(pinned) if each.version <= pinned.version)
    chosen = (
        sorted(files, key=_number, reverse=True)
        if limit is None
        else heapq.nlargest(limit, files, key=_number)
    )
    for each in chosen:
        yield _read(pinned, each.version)


def version_files(pinned: PinnedDataset) -> list[VersionFile]:
    """List the versions of a lineage that are left, oldest first. No version is opened."""
    pinned.guard.check()
    below = "_versions" if pinned.branch is None else f"tree/{pinned.branch}/_versions"
    found: dict[int, VersionFile] = {}
    for each in list_objects(pinned.storage.child(below)):
        parsed = parse_name(each.name)
        if parsed is not None:
            number = parsed[1]
            found[number] = VersionFile(version=number, size=each.size, modified=each.modified)
    return [found[number] for number in sorted(found)]


def _number(file: VersionFile) -> int:
    return file.version


def _read(pinned: PinnedDataset, version: int) -> VersionRecord:
    pinned.guard.check()
    committed_at: datetime | None = None
    record: Record | None = None
    problem: str | None = None
    try:
        with recognize_failures():
            opened = run_watched(
                pinned.storage,
                lambda: pinned.dataset.checkout_version((pinned.branch, version)),
            )
            # Lance gives the time of this machine's zone, without saying so.
            timestamp: Any = opened.get_version()["timestamp"]  # its stub allows a number
            committed_at = timestamp.astimezone(timezone.utc)
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


def _record(pinned: PinnedDataset, opened: LanceDataset) -> Record | None:
    """Read by pylance what it shows; the rest from the record's own file."""
    lineage = (
        pinned.storage if pinned.branch is None else pinned.storage.child(f"tree/{pinned.branch}")
    )
    shown = None
    try:
        with recognize_failures():
            shown = run_watched(pinned.storage, lambda: read_transaction(opened, opened.version))
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
