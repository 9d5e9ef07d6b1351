"""Apply the changes of a run to a table on the lineage of its target.

Invariant: the result is exactly the pinned version of the target plus the net change of the run.
The cost follows the change, plus one column if rows were deleted. A table of which the run kept no
row is overwritten as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1 import Delta, Staged, Table
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._rows.pinned_reads import present
from omnigraph_l2._store.exact_commit import commit_exactly

__all__ = ["apply_changes"]

_DELETED_AT_ONCE = 100_000


def apply_changes(target: Table, done: Table, since: int) -> Table:
    """Apply to ``target`` what ``done`` changed after version ``since`` of its own lineage.

    ``target`` has the very rows that ``done`` had at that version.
    """
    delta, before = done.delta(since), target.count()
    gone = _row_ids(delta)
    if before and len(gone) == before:
        return commit_exactly(target, lambda on: on.stage_overwrite(done.scan()))
    if not len(gone) and not any(batch.num_rows for batch in delta.updated()):
        return commit_exactly(target, lambda on: on.stage_append(_rows(delta.inserted(), on)))
    return _merge(target, done, done.at(since), delta, gone)


def _merge(target: Table, done: Table, base: Table, delta: Delta, gone: pa.Array) -> Table:
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
