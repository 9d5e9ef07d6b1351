"""What a publish may change, and the plan of the rows that it writes. Pure.

First the changes and the intent of a publish, as plain values; then checks of requests that are
invalid in every state; then the decision whether a commit may be published onto a state.

Invariant: every row that is written was planned here, against exactly the state that it is written
onto. A plan contains the state that follows, so that several commits can be planned one after
another and written at once. Everything that passes the checks can be written and read back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeAlias

import attrs

from omnigraph_l1 import table_path
from omnigraph_l1.errors import InvalidName
from omnigraph_l2._catalog.catalog_state import CatalogState, fold
from omnigraph_l2._catalog.graph_commit import GraphCommit, Published
from omnigraph_l2._catalog.manifest_rows import (
    OPERATION,
    TABLE,
    TABLE_VERSION,
    TOMBSTONE,
    ManifestRow,
    later_time,
    operation_key,
    publish_row,
    run_read_row,
    tombstone_key,
    version_key,
)
from omnigraph_l2._model.argument_checks import check_text, invalid_argument
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    InvalidChange,
    InvalidSchema,
    OperationRepeated,
)

__all__ = [
    "Change",
    "Intent",
    "Plan",
    "RegisterTable",
    "TableTombstone",
    "TableUpdate",
    "check_changes",
    "check_expectations",
    "check_expected",
    "check_intent",
    "check_types",
    "operation_digest",
    "plan",
]


@attrs.frozen(kw_only=True)
class RegisterTable:
    """Register a table, or change its declaration. It is visible once it has a version."""

    table_key: str
    table_path: str
    """Where its dataset is, below the root. It can never be another one."""
    metadata: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class TableUpdate:
    """Make a version of a table's dataset visible."""

    table_key: str
    table_version: int
    row_count: int
    table_branch: str | None = None
    """The native branch that holds the version; None is the main lineage."""
    metadata: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class TableTombstone:
    """Drop a table: every version of it up to this one."""

    table_key: str
    table_version: int


Change: TypeAlias = RegisterTable | TableUpdate | TableTombstone


@attrs.frozen(kw_only=True)
class Intent:
    """One commit to publish: everything about it that does not depend on what others publish."""

    graph_commit_id: str
    changes: tuple[Change, ...]
    expected: Mapping[str, int]
    created_at: datetime
    """The clock of the writer; the commit gets a later moment where its parent's is not past."""
    actor_id: str | None = None
    message: str | None = None
    run_id: str | None = None
    operation_hash: str | None = None
    not_done_through: int = 0
    """No commit up to this sequence number was made by the same operation: that was looked for."""
    merged_parent_commit_id: str | None = None
    reads: frozenset[str] = frozenset()
    """On the branch of a run: the tables that were read."""
    same_types_as: CatalogState | None = attrs.field(default=None, repr=False)
    """A state: the tables of the branch must still be those of it, registered in the same way."""


_MOST = 2**63


def check_intent(intent: Intent) -> None:
    """Raise if a commit could not be written."""
    texts = {
        "actor": intent.actor_id,
        "message": intent.message,
        "operation_hash": intent.operation_hash,
    }
    for name, given in texts.items():
        if given is not None:
            check_text(name, given)
    check_expected(intent.expected)
    check_changes(intent.changes)


def check_expected(expected: object) -> None:
    """Raise unless the expectations are versions of tables."""
    if not isinstance(expected, Mapping):
        wanted = "a mapping of table keys to versions"
        raise invalid_argument(expected, "expected_table_versions", wanted)
    for table_key, version in expected.items():
        if not isinstance(table_key, str) or not _is_number(version):
            wanted = "a table key and a version"
            raise invalid_argument({table_key: version}, "expected_table_versions", wanted)


def check_changes(changes: object) -> None:
    """Raise unless the value is a sequence of changes of tables."""
    kinds = "RegisterTable, TableUpdate or TableTombstone"
    if not isinstance(changes, list | tuple):
        raise invalid_argument(changes, "changes", f"a list of {kinds}")
    for change in changes:
        if not isinstance(change, RegisterTable | TableUpdate | TableTombstone):
            raise invalid_argument(change, "change", kinds)
        _check_key(change.table_key)
        if isinstance(change, RegisterTable):
            _check_metadata(change.table_key, change.metadata)
            continue
        _check_number(change.table_key, "table_version", change.table_version)
        if isinstance(change, TableUpdate):
            _check_update_request(change)


def _check_update_request(change: TableUpdate) -> None:
    _check_number(change.table_key, "row_count", change.row_count)
    _check_metadata(change.table_key, change.metadata)
    branch: object = change.table_branch
    if branch is not None and (not isinstance(branch, str) or not branch):
        reason = f"its table_branch is a name or None, found {branch!r}"
        raise InvalidChange(table_key=change.table_key, reason=reason)


def _check_key(table_key: object) -> None:
    if not isinstance(table_key, str):
        reason = "a table key is text, as in 'node:Person'"
        raise InvalidChange(table_key=repr(table_key), reason=reason)
    problem = _key_problem(table_key)
    if problem is not None:
        raise InvalidChange(table_key=repr(table_key), reason=problem)


@lru_cache(maxsize=4096)
def _key_problem(table_key: str) -> str | None:
    """Return why a text cannot be the key of a table; None if it can."""
    try:
        table_path(table_key)
    except InvalidName as error:
        return error.rule
    if "$" in table_key:
        return "its name has a '$', which separates the parts of catalog keys"
    return None


def _check_number(table_key: str, what: str, value: object) -> None:
    if not _is_number(value):
        reason = f"its {what} is a whole number from 0 to {_MOST - 1}, found {value!r}"
        raise InvalidChange(table_key=table_key, reason=reason)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST


def _check_metadata(table_key: str, metadata: Any) -> None:
    try:
        if not isinstance(metadata, Mapping) or any(not isinstance(key, str) for key in metadata):
            reason = f"its metadata is a mapping of texts to values, found {metadata!r}"
            raise InvalidChange(table_key=table_key, reason=reason)
        json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        reason = f"its metadata cannot be written as JSON ({error})"
        raise InvalidChange(table_key=table_key, reason=reason) from error


@attrs.frozen(kw_only=True)
class Plan:
    """The rows to write for one commit, and the state that follows."""

    rows: tuple[ManifestRow, ...]
    made: Published
    after: CatalogState


def operation_digest(operation_hash: str) -> str:
    """Return the SHA-256 of an operation hash, which names the operation."""
    return hashlib.sha256(operation_hash.encode()).hexdigest()


def check_expectations(state: CatalogState, expected: Mapping[str, int]) -> None:
    """Raise if the visible version of a table is not the expected one; 0 is no visible version."""
    for table_key, version in expected.items():
        actual = state.latest(table_key)
        if actual != version:
            raise ExpectedVersionMismatch(table_key=table_key, expected=version, actual=actual)


def check_types(state: CatalogState, before: CatalogState) -> None:
    """Raise if a table was added, dropped or registered differently since ``before``."""
    now, then = (
        {key: known for key, known in each.registrations.items() if key in each.tables}
        for each in (state, before)
    )
    for key in sorted({*now, *then}):
        if now.get(key) != then.get(key):
            raise ExpectedVersionMismatch(
                table_key=key, expected=before.latest(key), actual=state.latest(key)
            )


def _check_floors(state: CatalogState, before: CatalogState, changes: Iterable[Change]) -> None:
    """Raise if a table was dropped since ``before``, perhaps after it was added then."""
    for key in dict.fromkeys(change.table_key for change in changes):
        if state.floor(key) != before.floor(key):
            raise ExpectedVersionMismatch(
                table_key=key, expected=before.latest(key), actual=state.latest(key)
            )


def plan(state: CatalogState, intent: Intent, parent: Published | None) -> Plan:
    """Plan one commit on top of ``parent``, the head of the branch."""
    check_intent(intent)
    _check_operation(state, intent)
    check_expectations(state, intent.expected)
    if intent.same_types_as is not None:
        check_types(state, intent.same_types_as)
        _check_floors(state, intent.same_types_as, intent.changes)
    _check_changes(state, intent.changes)
    version = state.version + 1
    made = _commit(state, intent, parent, version)
    rows = [_row(change, made.sequence) for change in intent.changes]
    rows.append(publish_row(made))
    if intent.operation_hash is not None:
        rows.append(_operation_row(intent.operation_hash, made))
    rows += [run_read_row(key) for key in sorted(intent.reads - state.reads)]
    numbered = tuple(
        attrs.evolve(row, created_at_version=_came(row, state), updated_at_version=version)
        for row in rows
    )
    # Planned commits of one write all stand at the version before it, until it is written.
    after = attrs.evolve(fold(state, numbered, version), version=state.version)
    return Plan(rows=numbered, made=made, after=after)


def _came(row: ManifestRow, state: CatalogState) -> int:
    """Return the version of the catalog that has first shown what a row names.

    A row is written again where another branch takes its version over.
    """
    if row.object_type == TABLE_VERSION:
        for existing in state.versions(row.table_key):
            if existing.number == row.table_version:
                return existing.made_at
    return state.version + 1


def _check_operation(state: CatalogState, intent: Intent) -> None:
    if intent.operation_hash is not None:
        done = state.operations.get(operation_digest(intent.operation_hash))
        if done is not None:
            raise OperationRepeated(operation_hash=intent.operation_hash, commit_id=done)


def _commit(
    state: CatalogState, intent: Intent, parent: Published | None, version: int
) -> Published:
    created_at = intent.created_at
    if parent is not None:
        created_at = max(created_at, later_time(parent.commit.created_at))
    commit = GraphCommit(
        graph_commit_id=intent.graph_commit_id,
        parent_commit_id=None if parent is None else parent.commit.graph_commit_id,
        merged_parent_commit_id=intent.merged_parent_commit_id,
        manifest_branch=state.branch,
        manifest_version=version,
        actor_id=intent.actor_id,
        message=intent.message,
        created_at=created_at,
        run_id=intent.run_id,
        operation_hash=intent.operation_hash,
    )
    return Published(state.last_sequence + 1, commit)


def _row(change: Change, sequence: int) -> ManifestRow:
    key = change.table_key
    if isinstance(change, RegisterTable):
        return ManifestRow(
            object_id=key,
            object_type=TABLE,
            location=change.table_path,
            metadata=_text(change.metadata) if change.metadata else None,
            table_key=key,
        )
    if isinstance(change, TableTombstone):
        return ManifestRow(
            object_id=tombstone_key(key, change.table_version),
            object_type=TOMBSTONE,
            metadata=_text({"publish": sequence}),
            table_key=key,
            table_version=change.table_version,
        )
    return ManifestRow(
        object_id=version_key(key, change.table_version),
        object_type=TABLE_VERSION,
        metadata=_text({**change.metadata, "publish": sequence}),
        table_key=key,
        table_version=change.table_version,
        table_branch=change.table_branch,
        row_count=change.row_count,
    )


def _operation_row(operation_hash: str, made: Published) -> ManifestRow:
    metadata = {"graph_commit_id": made.commit.graph_commit_id, "publish": made.sequence}
    return ManifestRow(
        object_id=operation_key(operation_digest(operation_hash)),
        object_type=OPERATION,
        metadata=_text(metadata),
    )


def _text(metadata: Mapping[str, object]) -> str:
    return json.dumps(dict(metadata), ensure_ascii=False)


def _check_changes(state: CatalogState, changes: Iterable[Change]) -> None:
    listed = list(changes)
    registered = {change.table_key for change in listed if isinstance(change, RegisterTable)}
    seen: set[tuple[type[Change], str, int]] = set()
    for change in listed:
        version = 0 if isinstance(change, RegisterTable) else change.table_version
        if (type(change), change.table_key, version) in seen:
            raise InvalidChange(table_key=change.table_key, reason="the call has it twice")
        seen.add((type(change), change.table_key, version))
        if isinstance(change, RegisterTable):
            _check_registration(state, change)
            continue
        if change.table_key not in registered and state.registration(change.table_key) is None:
            reason = "it is not registered; register it in the same call"
            raise InvalidChange(table_key=change.table_key, reason=reason)
        if isinstance(change, TableTombstone):
            _check_tombstone(state, change)
        else:
            _check_update(state, change)


def _check_registration(state: CatalogState, change: RegisterTable) -> None:
    proper = table_path(change.table_key)
    if change.table_path != proper:
        reason = f"its dataset belongs at {proper}, not at {change.table_path}"
        raise InvalidChange(table_key=change.table_key, reason=reason)
    before = state.registration(change.table_key)
    if before is not None:
        if before.location != change.table_path:
            reason = f"it is registered at {before.location}, not at {change.table_path}"
            raise InvalidChange(table_key=change.table_key, reason=reason)
        return
    for key, other in state.registrations.items():
        if other.location == change.table_path or key.casefold() == change.table_key.casefold():
            problem = f"{change.table_key!r} and {key!r} differ only by case, or have the same hash"
            raise InvalidSchema(problems=(problem,))


def _check_tombstone(state: CatalogState, change: TableTombstone) -> None:
    latest, tombstone = state.latest(change.table_key), state.tombstone(change.table_key)
    if change.table_version <= tombstone:
        reason = f"it was dropped already, up to version {tombstone}"
        raise InvalidChange(table_key=change.table_key, reason=reason)
    if change.table_version < latest:
        reason = f"its visible version is {latest}; up to {change.table_version} hides nothing"
        raise InvalidChange(table_key=change.table_key, reason=reason)


def _check_update(state: CatalogState, change: TableUpdate) -> None:
    key, version = change.table_key, change.table_version
    for existing in state.versions(key):
        if existing.number == version:
            handed_over = existing.branch != change.table_branch
            if handed_over and existing.row_count == change.row_count:
                return
            reason = f"version {version} is in the catalog already"
            raise InvalidChange(table_key=key, reason=reason)
    floor = state.floor(key)
    if version <= floor:
        visible = "visible" if floor == state.latest(key) else "dropped"
        reason = f"version {version} is not above version {floor}, which is {visible}"
        raise InvalidChange(table_key=key, reason=reason)
