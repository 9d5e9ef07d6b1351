"""Write several tables from one stream: a function for ``foreachBatch``.

Invariant: each batch is published once. Its ``operation_hash`` consists of the name of the stream
and the number of the batch, both kept by the checkpoint, so a batch that runs again finds its
commit.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import attrs
from pyspark.sql import DataFrame

from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    InvalidRequest,
    LeaseLost,
    PublishConflict,
    TableContention,
)
from omnigraph_spark._convert.error_transport import transport_errors
from omnigraph_spark._write.spark_transaction import SparkTransaction, transaction

__all__ = ["each_batch"]

_QUERY: Final = "sql.streaming.queryId"
_NAMELESS: Final = (
    f"There is no id of the query here ({_QUERY}), as with Spark Connect; give each_batch a "
    "name, which no other stream has that writes to this graph"
)
_ATTEMPTS: Final = 10
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0
_LOST_RACES: Final = (ExpectedVersionMismatch, LeaseLost, PublishConflict, TableContention)

_RUN: Final = "spark.jobGroup.id"
_TWICE: Final = (
    "another each_batch of this stream has written this batch to this branch already, and this one "
    "would be taken for it: do both in one function, or give each a name of its own"
)

Write = Callable[[SparkTransaction, DataFrame], Any]


def each_batch(
    uri: str,
    write: Write,
    *,
    branch: str = "main",
    storage_options: Mapping[str, Any] | None = None,
    actor: str | None = None,
    name: str | None = None,
    check: bool = True,
) -> Callable[[DataFrame, int], None]:
    """Return a function for ``writeStream.foreachBatch(…)``, which calls ``write(tx, frame)``.

    Everything that ``write`` does in the transaction becomes visible together, once. It is called
    again if others changed the same rows in between. ``name`` defaults to the id of the query,
    which the checkpoint keeps. A name of your own must be used with one checkpoint only: batches of
    another one would be taken for published. ``check`` is that of ``transaction``.
    """
    given: object = write
    if not callable(given):
        reason = f"expected a function of a transaction and a data frame, found {write!r}"
        raise InvalidRequest(what="each_batch", reason=reason)
    how = {"branch": branch, "storage_options": storage_options, "actor": actor, "check": check}
    return _EachBatch(uri=uri, write=write, name=name, how=how)


@attrs.frozen(kw_only=True)
class _EachBatch:
    """Writes one batch after the other."""

    uri: str
    write: Write
    name: str | None
    how: Mapping[str, Any] = attrs.field(repr=False)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Write one batch, unless it was published before."""
        with transport_errors():
            name = f"spark-batch:{self.name or _query_id(frame)}:{batch_id}"
            cached = frame.persist()  # several tables are derived from the same rows
            try:
                self._write_batch(cached, name)
            finally:
                cached.unpersist()

    def _write_batch(self, frame: DataFrame, name: str) -> None:
        pause = _FIRST_PAUSE
        for left in range(_ATTEMPTS - 1, -1, -1):
            try:
                with transaction(
                    frame.sparkSession, self.uri, operation_hash=name, **self.how
                ) as tx:
                    self._refuse_second(frame, name, is_repeat=tx.is_repeat)
                    if not tx.is_repeat:
                        self.write(tx, frame)
            except _LOST_RACES:
                if not left:
                    raise
                time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                return

    def _refuse_second(self, frame: DataFrame, name: str, *, is_repeat: bool) -> None:
        """Raise if another ``each_batch`` of this stream wrote this batch in the same run.

        Within one run Spark does each batch once; it repeats a batch only in another run.
        """
        run = _local_property(frame, _RUN)
        location = self.uri, self.how["branch"], name.rpartition(":")[0]
        before = _LATEST.get(location)
        if is_repeat and run and before is not None and before[:2] == (run, name):
            if before[2] is not self:
                raise InvalidRequest(what="each_batch", reason=_TWICE)
        elif run:
            _LATEST[location] = run, name, self


_LATEST: Final[dict[tuple[str, str, str], tuple[str, str, _EachBatch]]] = {}
"""The last batch by stream and branch: the run, the name of the batch, the writer."""


def _query_id(frame: DataFrame) -> str:
    found = _local_property(frame, _QUERY)
    if not found:
        raise InvalidRequest(what="each_batch", reason=_NAMELESS)
    return found


def _local_property(frame: DataFrame, name: str) -> str | None:
    """Return a local property of Spark, if there is one."""
    with suppress(Exception):  # sessions without local properties raise different errors
        return frame.sparkSession.sparkContext.getLocalProperty(name)
    return None
