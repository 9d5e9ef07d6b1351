"""Putting what a run did to a table onto the lineage of its target.

Always: the result is the pinned version of the target plus the net change of the run, exactly. The
cost follows the change (and one column, where rows were deleted); a table of which the run kept no
row is overwritten as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1 import Delta, Staged, Table
from omnigraph_l2._data.ids import IdSet
from omnigraph_l2._storage.upkeep import kept_up
from omnigraph_l2._transactions.exact import commit_exactly
from omnigraph_l2._transactions.lookups import present

__all__ = ["applied"]

_DELETED_AT_ONCE = 100_000


def applied(target: Table, done: Table, since: int, indexed: tuple[str, ...]) -> Table:
    """Put onto ``target`` what ``done`` changed after version ``since`` of its own lineage.

    ``target`` has the very rows that ``done`` had at that version.
    """
    delta, before = done.delta(since), target.count()
    gone = _row_ids(delta)
    if before and len(gone) == before:
        result = commit_exactly(target, lambda on: on.stage_overwrite(done.scan()))
    elif not len(gone) and not any(batch.num_rows for batch in delta.updated()):
        result = commit_exactly(target, lambda on: on.stage_append(_rows(delta.inserted(), on)))
    else:
        result = _merged(target, done, done.at(since), delta, gone)
    return result if result is target else kept_up(result, indexed)


def _merged(target: Table, done: Table, base: Table, delta: Delta, gone: pa.Array) -> Table:
    result = target
    with IdSet() as removed:
        if len(gone):
            for batch in base.scan(columns=["id"], with_row_id=True):
                is_gone = pc.is_in(batch.column("_rowid"), value_set=gone)
                removed.add(batch.column("id").filter(is_gone))
        for batch in removed.batches(_DELETED_AT_ONCE):
            # An id that came back as a new row is an update of the old one here.
            came_back = present(done, "id", batch)
            ids = batch.filter(pc.invert(pc.is_in(batch, value_set=came_back))).to_pylist()

            def deleting(on: Table, ids: list[str] = ids) -> Staged:
                return on.stage_delete_keys("id", ids)

            result = commit_exactly(result, deleting)

    def upserting(on: Table) -> Staged:
        changed = chain.from_iterable(_each(delta))
        return on.stage_upsert(_rows(changed, on), "id")

    return commit_exactly(result, upserting)


def _each(delta: Delta) -> Iterator[pa.RecordBatchReader]:
    yield delta.updated()
    yield delta.inserted()


def _rows(batches: Iterable[pa.RecordBatch], on: Table) -> pa.RecordBatchReader:
    """Leave out the columns that Lance adds."""
    names = on.schema.names
    schema = on.schema
    plain = (
        pa.RecordBatch.from_arrays([batch.column(name) for name in names], schema=schema)
        for batch in batches
    )
    return pa.RecordBatchReader.from_batches(schema, plain)


def _row_ids(delta: Delta) -> pa.Array:
    return delta.deleted_row_ids().read_all().column("_rowid").combine_chunks()
