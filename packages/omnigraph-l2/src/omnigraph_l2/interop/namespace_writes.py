"""What a client may write through a namespace: rows, each request as one publish.

Invariant: a write becomes visible through a transaction or not at all. Any other change of a table
or the catalog is refused; the error names what to call instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pyarrow as pa
from lance_namespace import (
    DeleteFromTableRequest,
    InsertIntoTableRequest,
    InvalidInputError,
    MergeInsertIntoTableRequest,
    UnsupportedOperationError,
)

from omnigraph_l2._transaction.transaction import Transaction
from omnigraph_l2.interop.namespace_revisions import NamespaceRevision

__all__ = [
    "REFUSED",
    "check_writable_revision",
    "plan_delete",
    "plan_insert",
    "plan_merge",
    "refuse",
]

REFUSED = {
    "alter_table_add_columns": "repo.evolve",
    "alter_table_alter_columns": "repo.evolve",
    "alter_table_backfill_columns": "repo.evolve",
    "alter_table_drop_columns": "repo.evolve",
    "alter_transaction": "repo.transaction",
    "batch_commit_tables": "repo.transaction",
    "batch_create_table_versions": "repo.transaction",
    "batch_delete_table_versions": "repo.cleanup",
    "create_empty_table": "repo.evolve",
    "create_materialized_view": "repo.evolve",
    "create_namespace": "repo.branches.create or repo.tags.create",
    "create_table": "repo.evolve",
    "create_table_branch": "repo.branches.create",
    "create_table_index": "repo.evolve, which declares indexes",
    "create_table_scalar_index": "repo.evolve, which declares indexes",
    "create_table_tag": "repo.tags.create",
    "create_table_version": "repo.transaction, or insert_into_table of this namespace",
    "declare_table": "repo.evolve",
    "delete_table_branch": "repo.branches.delete",
    "delete_table_tag": "repo.tags.delete",
    "deregister_table": "repo.evolve",
    "drop_namespace": "repo.branches.delete or repo.tags.delete",
    "drop_table": "repo.evolve",
    "drop_table_index": "repo.evolve, which declares indexes",
    "refresh_materialized_view": "repo.transaction",
    "register_table": "repo.evolve, or repo.publish",
    "rename_table": "repo.evolve",
    "restore_table": "repo.revert",
    "update_field_metadata": "repo.evolve",
    "update_table": "repo.transaction, with an upsert",
    "update_table_schema_metadata": "repo.evolve",
    "update_table_tag": "repo.tags.create",
}
"""What the contract has and a graph does otherwise, with what does it."""


def refuse(operation: str) -> NoReturn:
    """Raise the error that an operation is refused, with what to call instead."""
    msg = (
        f"{operation} is refused: only a publish changes a graph, all of its tables at once. "
        f"Nothing of this became visible. Use {REFUSED[operation]}."
    )
    raise UnsupportedOperationError(msg)


def check_writable_revision(revision: NamespaceRevision, native: str | None) -> None:
    """Raise if a revision is not a branch, or if Lance's name of a branch is used."""
    if native is not None:
        msg = 'A branch of a graph is a namespace: write to ["branches", name, key].'
        raise InvalidInputError(msg)
    if not revision.moves:
        msg = f"{revision} never changes. Write to a branch: [] is main."
        raise UnsupportedOperationError(msg)


def plan_insert(
    key: str, request: InsertIntoTableRequest, data: bytes
) -> Callable[[Transaction], Any]:
    """Return a function that inserts in a transaction."""
    rows = _rows(data)
    mode = (request.mode or "append").lower()
    if mode == "append":
        return lambda tx: tx.append(key, rows)
    if mode == "overwrite":
        return lambda tx: tx.overwrite(key, rows)
    msg = f"The mode of an insert is 'append' or 'overwrite', found {request.mode!r}."
    raise InvalidInputError(msg)


def plan_merge(
    key: str, request: MergeInsertIntoTableRequest, data: bytes
) -> Callable[[Transaction], Any]:
    """Return a function that upserts by id in a transaction, the only supported merge."""
    rows = _rows(data)
    is_upsert = request.when_matched_update_all and request.when_not_matched_insert_all
    more = (
        request.when_matched_update_all_filt,
        request.when_not_matched_by_source_delete,
        request.when_not_matched_by_source_delete_filt,
    )
    if request.on != ["id"] or not is_upsert or any(more):
        msg = (
            "A merge into a graph is an upsert by id: on=['id'], when_matched_update_all and "
            "when_not_matched_insert_all, and nothing else. For another, use repo.transaction."
        )
        raise InvalidInputError(msg)
    return lambda tx: tx.upsert(key, rows)


def plan_delete(key: str, request: DeleteFromTableRequest) -> Callable[[Transaction], Any]:
    """Return a function that deletes in a transaction."""
    return lambda tx: tx.delete(key, request.predicate)


def _rows(data: bytes) -> pa.Table:
    try:
        with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
            return stream.read_all()
    except (pa.ArrowException, OSError, TypeError, ValueError) as error:
        msg = f"The rows are a stream of Arrow's IPC format; these cannot be read ({error})."
        raise InvalidInputError(msg) from error
