"""Several tables from one stream: a function for ``foreachBatch``.

Always: each batch is one publish, once for all times, whatever dies in between. Its name is made of
the name of the stream and the number of the batch, which the checkpoint keeps, and the commit has
it for its ``operation_hash``: a batch that is run again finds that it was done.
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
from omnigraph_spark._errors.carrying import carrying
from omnigraph_spark._writing.transaction import SparkTransaction, transaction

__all__ = ["each_batch"]

_QUERY: Final = "sql.streaming.queryId"
_NAMELESS: Final = (
    f"Spark tells no id of the query here ({_QUERY}), as with Spark Connect; give each_batch a "
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
    """Give what ``writeStream.foreachBatch(…)`` takes: ``write(tx, frame)`` fills each batch.

    What ``write`` does in the transaction becomes visible together, once. It is called again where
    others changed the same rows meanwhile. ``name`` is by default the id of the query, which its
    checkpoint keeps; a name of your own belongs to one checkpoint, for ever: batches of another
    one would be taken for done. ``check`` is that of ``transaction``.
    """
    given: object = write
    if not callable(given):
        reason = f"it is a function of a transaction and a data frame, found {write!r}"
        raise InvalidRequest(what="Writing each batch", reason=reason)
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
        """Write one batch, unless it was written before."""
        with carrying():
            name = f"spark-batch:{self.name or _query_of(frame)}:{batch_id}"
            kept = frame.persist()  # several tables are made of the same rows
            try:
                self._written(kept, name)
            finally:
                kept.unpersist()

    def _written(self, frame: DataFrame, name: str) -> None:
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
        """Raise where what looks like a batch that was done before is another part of it.

        A run of a query does a batch once: Spark only does it again in another run.
        """
        run = _property(frame, _RUN)
        place = self.uri, self.how["branch"], name.rpartition(":")[0]
        before = _LATEST.get(place)
        if is_repeat and run and before is not None and before[:2] == (run, name):
            if before[2] is not self:
                raise InvalidRequest(what="Writing each batch", reason=_TWICE)
        elif run:
            _LATEST[place] = run, name, self


_LATEST: Final[dict[tuple[str, str, str], tuple[str, str, _EachBatch]]] = {}
"""What was written last, by stream and branch: in which run, as which batch, and by whom."""


def _query_of(frame: DataFrame) -> str:
    found = _property(frame, _QUERY)
    if not found:
        raise InvalidRequest(what="Writing each batch", reason=_NAMELESS)
    return found


def _property(frame: DataFrame, name: str) -> str | None:
    """Give a local property of Spark's, where there is one."""
    with suppress(Exception):  # each kind of session says in its own way that it has none
        return frame.sparkSession.sparkContext.getLocalProperty(name)
    return None
