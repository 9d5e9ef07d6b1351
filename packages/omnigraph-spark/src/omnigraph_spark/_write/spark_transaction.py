"""Change several tables from data frames and publish them together.

Invariant: executors write files; the driver publishes once or not at all. Checks are those of L2,
and L2 checks again what others published in between. Memory of the driver does not grow with the
data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from omnigraph_l2 import GraphCommit, Repository, Snapshot, Transaction
from omnigraph_l2.errors import InvalidRequest, TransactionClosed
from omnigraph_spark._convert.spark_types import schema_for_write
from omnigraph_spark._options.argument_checks import check_session
from omnigraph_spark._write.driver_frames import run_on_partitions
from omnigraph_spark._write.executor_tasks import RowDelete, RowInsert, RowUpsert
from omnigraph_spark._write.integrity_checks import IntegrityChecks
from omnigraph_spark._write.row_locations import locate_rows, with_binary_ids

__all__ = ["SparkTransaction", "transaction"]

_APPEND, _OVERWRITE, _UPSERT, _DELETE = "append", "overwrite", "upsert", "delete"


def transaction(
    spark: SparkSession,
    uri: str,
    *,
    branch: str = "main",
    storage_options: Mapping[str, Any] | None = None,
    actor: str | None = None,
    message: str | None = None,
    operation_hash: str | None = None,
    check: bool = True,
    timeout: float = 60.0,
) -> SparkTransaction:
    """Begin a transaction. Use it in a ``with`` block, which publishes at its end.

    Without ``check`` the caller guarantees that ids of new rows are new and unique, and that
    endpoints of edges exist; what others publish in between is checked anyway. A repeated
    ``operation_hash`` returns the first commit.
    """
    check_session(spark)
    return SparkTransaction(
        spark,
        uri,
        storage_options,
        check=check,
        how={
            "branch": branch,
            "actor": actor,
            "message": message,
            "operation_hash": operation_hash,
            "timeout": timeout,
        },
    )


class SparkTransaction:
    """Changes that become visible together. Create one with ``transaction``; use it once."""

    def __init__(
        self,
        spark: SparkSession,
        uri: str,
        storage_options: Mapping[str, Any] | None,
        *,
        check: bool,
        how: Mapping[str, Any],
    ) -> None:
        self._spark = spark
        self._uri = uri
        self._storage_options = storage_options
        self._check = check
        self._how = how
        self._open: Transaction | None = None
        self._closing = ExitStack()
        self._changes: dict[str, str] = {}
        self.commit: GraphCommit | None = None
        """The commit; None before the publish, or if nothing changed."""
        self.rows: dict[str, int] = {}
        """The number of rows written, by table; not visible before the publish."""

    def __enter__(self) -> SparkTransaction:  # noqa: PYI034  # Self needs Python 3.11
        with ExitStack() as closing:
            repo = closing.enter_context(
                Repository.open(self._uri, storage_options=self._storage_options)
            )
            self._open = repo.transaction(**self._how).__enter__()
            self._closing = closing.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        tx, self._open = self._transaction(), None
        with self._closing:
            if kind is not None:
                tx.__exit__(kind, error, trace)
                return
            try:
                if self._check and not tx.is_repeat:
                    self._check_all(tx)
            except BaseException as wrong:
                tx.__exit__(type(wrong), wrong, wrong.__traceback__)
                raise
            tx.__exit__(None, None, None)
            self.commit = tx.commit

    @property
    def snapshot(self) -> Snapshot:
        """The graph at the start of this transaction, without its own changes."""
        return self._transaction().snapshot

    @property
    def commit_id(self) -> str:
        """The id that the commit will have. After ``CommitOutcomeUnknown``, look for it."""
        return self._transaction().commit_id

    @property
    def is_repeat(self) -> bool:
        """Whether the operation was published before; then nothing is done again."""
        return self._transaction().is_repeat

    def append(self, table_key: str, frame: DataFrame) -> None:
        """Add rows with new ids. A table can be appended to several times."""
        tx = self._begin(_APPEND, table_key)
        self._write(tx, table_key, frame, tx.append_staged)

    def overwrite(self, table_key: str, frame: DataFrame) -> None:
        """Replace all rows."""
        tx = self._begin(_OVERWRITE, table_key)
        self._write(tx, table_key, frame, tx.overwrite_staged)

    def upsert(self, table_key: str, frame: DataFrame) -> None:
        """Replace rows by id, and add the others. Missing nullable columns keep their values."""
        tx = self._begin(_UPSERT, table_key)
        target = tx.stage_changes(table_key)
        target.check(schema_for_write(frame.schema, table_key=table_key))
        if not tx.is_repeat:
            rows = locate_rows(frame, tx.share(table_key).before)
            staged = run_on_partitions(rows, RowUpsert(target))
            self._count(table_key, (each.rows_updated + each.rows_inserted for each in staged))
            tx.change_staged(table_key, staged, checked_at=tx.snapshot.version)

    def delete(self, table_key: str, frame: DataFrame) -> None:
        """Delete the rows whose ids are in the column ``id``; ignore other ids."""
        tx = self._begin(_DELETE, table_key)
        target = tx.stage_changes(table_key)
        if "id" not in frame.columns:
            reason = f"expected the column id, found {', '.join(frame.columns)}"
            raise InvalidRequest(what=f"deletion from {table_key}", reason=reason)
        if not tx.is_repeat:
            ids = with_binary_ids(frame.select("id")).distinct()
            rows = locate_rows(ids, tx.share(table_key).before)
            staged = run_on_partitions(rows, RowDelete(target))
            tx.change_staged(table_key, staged, checked_at=tx.snapshot.version)

    def expect(self, table_key: str, version: int | None = None) -> None:
        """Publish only if a table is still at a version: by default the one seen here."""
        self._transaction().expect(table_key, version)

    def _transaction(self) -> Transaction:
        if self._open is None:
            raise TransactionClosed(what="transaction", state="not open")
        return self._open

    def _begin(self, what: str, table_key: str) -> Transaction:
        tx = self._transaction()
        before = self._changes.get(table_key, what)
        if table_key in self._changes and (before, what) != (_APPEND, _APPEND):
            reason = (
                f"after {before} it would depend on the order, which tasks do not have; put both "
                "into one data frame, or into a transaction of its own"
            )
            raise InvalidRequest(what=f"{what} of {table_key}", reason=reason)
        self._changes[table_key] = what
        return tx

    def _write(
        self, tx: Transaction, table_key: str, frame: DataFrame, take_in: Callable[..., None]
    ) -> None:
        target = tx.stage(table_key)
        target.check(schema_for_write(frame.schema, table_key=table_key))
        if not tx.is_repeat:
            staged = run_on_partitions(frame, RowInsert(target))
            self._count(table_key, (each.rows for each in staged))
            take_in(table_key, staged, checked_at=tx.snapshot.version)

    def _count(self, table_key: str, rows: Iterable[int]) -> None:
        self.rows[table_key] = self.rows.get(table_key, 0) + sum(rows)

    def _check_all(self, tx: Transaction) -> None:
        checks = IntegrityChecks(
            self._spark,
            tx.snapshot,
            {key: tx.share(key) for key in self._changes},
            appended=self._tables_with(_APPEND),
            removed_from=self._tables_with(_OVERWRITE, _DELETE),
        )
        checks.check_ids()
        checks.check_ends()

    def _tables_with(self, *kinds: str) -> frozenset[str]:
        return frozenset(key for key, what in self._changes.items() if what in kinds)
