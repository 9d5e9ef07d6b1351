"""Deciding whether a commit may be published onto a state, and writing down its rows. Pure.

Always: nothing that is refused here is written, everything that is written passed here, against
the very state that it is written onto. A plan gives the state that it leads to, so that several
commits can be planned one after another and written at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import timedelta

import attrs

from omnigraph_l1 import table_path
from omnigraph_l2._catalog.changes import (
    Change,
    Intent,
    RegisterTable,
    TableTombstone,
    TableUpdate,
)
from omnigraph_l2._catalog.checking import check_intent
from omnigraph_l2._catalog.commits import GraphCommit, Published, publish_row
from omnigraph_l2._catalog.rows import (
    OPERATION,
    TABLE,
    TABLE_VERSION,
    TOMBSTONE,
    ManifestRow,
    operation_key,
    read_row,
    tombstone_key,
    version_key,
)
from omnigraph_l2._catalog.state import CatalogState, fold
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    InvalidChange,
    InvalidSchema,
    OperationRepeated,
)

__all__ = ["Plan", "check_expectations", "check_types", "operation_digest", "plan"]

_MICROSECOND = timedelta(microseconds=1)


@attrs.frozen(kw_only=True)
class Plan:
    """What to write for one commit, and the state that is then."""

    rows: tuple[ManifestRow, ...]
    made: Published
    after: CatalogState


def operation_digest(operation_hash: str) -> str:
    """Name an operation by the SHA-256 of its hash."""
    return hashlib.sha256(operation_hash.encode()).hexdigest()


def check_expectations(
    state: CatalogState, expected: Mapping[str, int], *, visible: bool = False
) -> None:
    """Refuse where a table is not at the version that was expected, or not ``visible`` there."""
    for table_key, version in expected.items():
        actual = state.latest(table_key)
        if actual != version or (visible and table_key not in state.tables):
            raise ExpectedVersionMismatch(table_key=table_key, expected=version, actual=actual)


def check_types(state: CatalogState, before: CatalogState) -> None:
    """Refuse where a table came or went since ``before``, or is registered as something else."""
    now, then = (
        {key: known for key, known in each.registrations.items() if key in each.tables}
        for each in (state, before)
    )
    for key in sorted({*now, *then}):
        if now.get(key) != then.get(key):
            raise ExpectedVersionMismatch(
                table_key=key, expected=before.latest(key), actual=state.latest(key)
            )


def plan(state: CatalogState, intent: Intent, parent: Published | None) -> Plan:
    """Plan one commit on top of ``parent``, the head of the branch."""
    check_intent(intent)
    _check_operation(state, intent)
    check_expectations(state, intent.expected, visible=intent.expects_visible)
    if intent.same_types_as is not None:
        check_types(state, intent.same_types_as)
    _check_changes(state, intent.changes)
    version = state.version + 1
    made = _commit(state, intent, parent, version)
    rows = [_row(change, made.sequence) for change in intent.changes]
    rows.append(publish_row(made))
    if intent.operation_hash is not None:
        rows.append(_operation_row(intent.operation_hash, made))
    rows += [read_row(key) for key in sorted(intent.reads - state.reads)]
    numbered = tuple(
        attrs.evolve(row, created_at_version=_came(row, state), updated_at_version=version)
        for row in rows
    )
    # Planned commits of one write all stand at the version before it, until it is written.
    after = attrs.evolve(fold(state, numbered, version), version=state.version)
    return Plan(rows=numbered, made=made, after=after)


def _came(row: ManifestRow, state: CatalogState) -> int:
    """Tell at which version of the catalog a row came: handing a version over changes its row."""
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
        created_at = max(created_at, parent.commit.created_at + _MICROSECOND)
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
    latest = state.latest(key)
    if version <= latest:
        visible = "visible" if key in state.tables else "dropped"
        reason = f"version {version} is not above version {latest}, which is {visible}"
        raise InvalidChange(table_key=key, reason=reason)
