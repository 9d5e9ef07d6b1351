"""What a caller may ask the publisher for at all, whatever the state is. Pure.

Always: what passes can be written down and read back. Everything else is an error that says which
value is wrong, before anything is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from omnigraph_l1 import table_path
from omnigraph_l1.errors import InvalidName
from omnigraph_l2._catalog.changes import Intent, RegisterTable, TableTombstone, TableUpdate
from omnigraph_l2.errors import InvalidChange, InvalidRequest

__all__ = ["check_changes", "check_expected", "check_intent", "check_text"]

_MOST = 2**63


def check_intent(intent: Intent) -> None:
    """Refuse a commit that could not be written down."""
    check_text("This commit", "its actor", intent.actor_id)
    check_text("This commit", "its message", intent.message)
    check_text("This commit", "its operation_hash", intent.operation_hash)
    check_expected(intent.expected)
    check_changes(intent.changes)


def check_text(what: str, name: str, value: object) -> None:
    """Refuse what is no text, or text that UTF-8 cannot write."""
    if value is None:
        return
    if not isinstance(value, str):
        raise InvalidRequest(what=what, reason=f"{name} is text, found {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        reason = f"{name} holds half of a surrogate pair, which UTF-8 cannot write"
        raise InvalidRequest(what=what, reason=reason) from error


def check_expected(expected: object) -> None:
    """Refuse expectations that are no versions of tables."""
    if not isinstance(expected, Mapping):
        reason = f"it is a mapping of table keys to versions, found {expected!r}"
        raise InvalidRequest(what="The expectation", reason=reason)
    for table_key, version in expected.items():
        if not isinstance(table_key, str) or not _is_number(version):
            reason = f"it is a table key and a version, found {table_key!r}: {version!r}"
            raise InvalidRequest(what="The expectation", reason=reason)


def check_changes(changes: object) -> None:
    """Refuse what is no sequence of changes of tables."""
    kinds = "it is a list of RegisterTable, TableUpdate and TableTombstone"
    if not isinstance(changes, list | tuple):
        raise InvalidRequest(what="This publish", reason=f"{kinds}, found {changes!r}")
    for change in changes:
        if not isinstance(change, RegisterTable | TableUpdate | TableTombstone):
            raise InvalidRequest(what="This publish", reason=f"{kinds}, found {change!r} in it")
        _check_key(change.table_key)
        if isinstance(change, RegisterTable):
            _check_metadata(change.table_key, change.metadata)
            continue
        _check_number(change.table_key, "table_version", change.table_version)
        if isinstance(change, TableUpdate):
            _check_update(change)


def _check_update(change: TableUpdate) -> None:
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
    try:
        table_path(table_key)
    except InvalidName as error:
        raise InvalidChange(table_key=repr(table_key), reason=error.rule) from error
    if "$" in table_key:
        reason = "its name has a '$', which separates the parts of catalog keys"
        raise InvalidChange(table_key=table_key, reason=reason)


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
