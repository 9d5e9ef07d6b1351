"""Taking changes that others wrote for one version of a table over to a later one.

Always: only if every row that they change is there as it was, wherever it lies by now; else they
cannot be taken over, and the caller looks its rows up again. Rows that shall only go may have gone.
Nothing that was written is written again but the marks. Memory is that of one fragment's rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa

from omnigraph_l1 import Table, WrittenChanges
from omnigraph_l1.errors import UnknownVersion
from omnigraph_l2._comparing.doubtful import Doubtful, doubtful
from omnigraph_l2._comparing.rows import ADDRESS, Rows

__all__ = ["followed"]

_FRAGMENT: Final = np.uint64(32)
_ROW_ID: Final = "_rowid"


def followed(written: Sequence[WrittenChanges], on: Table) -> tuple[WrittenChanges, ...] | None:
    """Give the same changes for this version; None where they do not mean the same on it."""
    fitting = [on.fits([part]) for part in written]
    if all(fitting):
        return tuple(written)
    compared: dict[int, Doubtful] = {}
    moved: list[WrittenChanges] = []
    for part, fits in zip(written, fitting, strict=True):
        if fits:
            moved.append(part)
            continue
        if part.version not in compared:
            before = _opened(part, on)
            if before is None:
                return None
            compared[part.version] = doubtful(before, on)
        taken_over = _moved(part, compared[part.version])
        if taken_over is None:
            return None
        moved.append(taken_over)
    return tuple(moved)


def _opened(part: WrittenChanges, on: Table) -> Table | None:
    """Open the version that was changed, if it is one of the same lineage with the same columns."""
    if (part.place, part.branch) != (str(on.place), on.branch):
        return None
    try:
        before = on.at(part.version)
    except UnknownVersion:
        return None
    unmarked = attrs.evolve(part, marked=())
    return before if on.fits([unmarked]) and before.has_row_ids and on.has_row_ids else None


def _moved(part: WrittenChanges, versions: Doubtful) -> WrittenChanges | None:
    before, after = versions.before.table, versions.after.table
    keeping = [each for each in part.marked if after.fits([attrs.evolve(part, marked=(each,))])]
    kept = {each.fragment for each in keeping}
    addresses: list[Any] = [np.zeros(0, np.uint64)]
    for fragment, places in before.marked_places(part):
        if fragment in kept:
            continue
        then = places.to_numpy().astype(np.uint64) | (np.uint64(fragment) << _FRAGMENT)
        changed = versions.before.holds(then)
        if changed.any() and part.rows_updated:
            return None
        addresses.append(_now(then[~changed], fragment, before, after))
    none = before.schema.empty_table()
    marks = after.write_changes(
        updated=none, row_ids=[], inserted=none, addresses=np.concatenate(addresses)
    )
    marked = (*keeping, *marks.marked)
    deleted = sum(each.rows for each in marked) - part.rows_updated
    return attrs.evolve(part, version=after.version, marked=marked, rows_deleted=deleted)


def _now(addresses: Any, fragment: int, before: Table, after: Table) -> Any:
    """Tell where rows of a fragment are that did not change."""
    files, there = before.fragment_files(), after.fragment_files()
    same = [number for number, each in there.items() if each.data == files[fragment].data]
    if same:
        return (addresses & np.uint64(0xFFFFFFFF)) | (np.uint64(same[0]) << _FRAGMENT)
    rows = Rows(before)
    rows.add(addresses)
    ids = [batch.column(0).to_numpy() for batch in rows.batches([_ROW_ID])]
    wanted = np.concatenate([np.zeros(0, np.uint64), *ids])
    known = {each.data for each in files.values()}
    came = [number for number, each in there.items() if each.data not in known]
    return np.concatenate([np.zeros(0, np.uint64), *_with_ids(after, came, wanted)])


def _with_ids(table: Table, fragments: Sequence[int], wanted: Any) -> Iterator[Any]:
    if fragments and len(wanted):
        batch: pa.RecordBatch
        for batch in table.scan(columns=[_ROW_ID, ADDRESS], fragments=fragments):
            ids, places = (column.to_numpy() for column in batch.columns)
            yield places[np.isin(ids, wanted)]
