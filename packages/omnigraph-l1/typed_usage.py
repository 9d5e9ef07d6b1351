"""How omnigraph-l1 is used, for the type checker: each line must mean what it says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pyarrow as pa

from omnigraph_l1 import (
    Commit,
    JsonRefs,
    Location,
    Ref,
    Resolution,
    Staged,
    Storage,
    Table,
    TransactionKind,
    VersionRecord,
    classify,
    migrate_version_names,
    retry_conflicts,
    time_of_store,
)
from omnigraph_l1.errors import CommitConflict, L1Error


def use(schema: pa.Schema, rows: pa.Table) -> int:
    """Everything a user of the table handle writes down."""
    location: Location = Location.parse("people") / "below"
    storage: Storage = Storage.resolve(location, {"region": "eu-west-1"})
    table: Table = Table.create(storage, schema, durability="full")
    staged: Staged = table.stage_upsert(rows, key="id")
    try:
        commit: Commit = table.commit(staged, properties={"actor": "ann"})
    except CommitConflict as conflict:
        resolution: Resolution = conflict.resolution
        theirs: TransactionKind | None = conflict.theirs
        again: str = conflict.ours.again if conflict.ours and conflict.retryable else ""
        raise RuntimeError(resolution.advice, theirs, again, conflict.attempts) from conflict
    except L1Error as error:
        kind: str = error.kind
        raise RuntimeError(kind) from error
    follows: bool = commit.follows_base
    newest: Table = commit.table.refresh()
    reader: pa.RecordBatchReader = newest.scan(columns=["id"], filter="age > 3")
    del reader, follows
    return newest.count()


def use_columns(table: Table, rows: pa.Table) -> bool:
    """What changes no data, and appends that are one commit."""
    added: Commit = table.add_columns([pa.field("nick", pa.string())])
    dropped: Commit = added.table.drop_columns(["nick"])
    stamped: Commit = dropped.table.annotate(
        schema_metadata={"stamp": "2"}, field_metadata={"age": {"unit": "years"}}
    )
    emptied: Table = stamped.table.replace_schema(table.schema).table
    together: Staged = emptied.stage_together([emptied.stage_append(rows)])
    unit: str | None = emptied.commit(together).table.config.get("unit")
    return emptied.has_branch("side") and unit is None


def use_retries(table: Table, rows: pa.Table) -> int:
    """A change that is computed again after each commit that it met."""

    def change(table: Table) -> Commit:
        return table.upsert(rows, key="id")

    done: Commit = retry_conflicts(table, change, attempts=20, within=30.0)
    return retry_conflicts(done.table, lambda newest: newest.count())


def use_old_names(location: Location) -> int:
    """A dataset whose version files have names of the old kind."""
    renamed: int = migrate_version_names(location, storage_options={"region": "eu-west-1"})
    return renamed


def use_history(table: Table) -> str | None:
    """What made each version, the newest first."""
    records: Iterator[VersionRecord] = table.history(limit=10)
    for record in records:
        kind: TransactionKind | None = record.kind
        made: datetime | None = record.committed_at
        actor: str | None = record.properties.get("actor")
        if kind is TransactionKind.RESTORE and made is not None:
            return actor
    return None


def use_stores(table: Table, storage: Storage) -> datetime:
    """Whether this version store is the right one, and what time it is there."""
    table.check_version_store()
    now: datetime = time_of_store(storage)
    return now


def use_refs(error: Exception) -> Resolution | None:
    """Refs, and what Lance raised."""
    refs: JsonRefs = JsonRefs.open("people", "refs")
    ref: Ref = refs.create("main", {"head": 1})
    ref = refs.replace(ref, {"head": 2})
    found: Ref | None = refs.get("main")
    del found
    refs.delete(ref)
    return classify(error)
