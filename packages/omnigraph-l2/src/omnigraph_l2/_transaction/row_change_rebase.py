"""Rebase changes that others wrote for one version of a table onto a later version.

Invariant: changes are rebased only if every row that they update is unchanged, wherever it is
stored now. Otherwise the caller looks its rows up again. Rows that are only deleted may be gone
already. Only deletion marks are written again. Memory is bounded by the rows of one fragment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa

from omnigraph_l1 import Table, WrittenChanges
from omnigraph_l1.errors import UnknownVersion
from omnigraph_l1.row_addresses import ADDRESS, address_of, offset_of
from omnigraph_l2._rows.addressed_rows import AddressedRows
from omnigraph_l2._rows.change_candidates import ChangeCandidates, find_candidates

__all__ = ["rebase_changes"]

_ROW_ID: Final = "_rowid"


def rebase_changes(
    written: Sequence[WrittenChanges], on: Table
) -> tuple[WrittenChanges, ...] | None:
    """Return the same changes for this version; None where they do not mean the same on it."""
    fitting = [on.fits([part]) for part in written]
    if all(fitting):
        return tuple(written)
    compared: dict[int, ChangeCandidates] = {}
    moved: list[WrittenChanges] = []
    for part, fits in zip(written, fitting, strict=True):
        if fits:
            moved.append(part)
            continue
        if part.version not in compared:
            before = _open(part, on)
            if before is None:
                return None
            compared[part.version] = find_candidates(before, on)
        taken_over = _move(part, compared[part.version])
        if taken_over is None:
            return None
        moved.append(taken_over)
    return tuple(moved)


def _open(part: WrittenChanges, on: Table) -> Table | None:
    """Open the version that was changed, if it is one of the same lineage with the same columns."""
    if (part.location, part.branch) != (str(on.location), on.branch):
        return None
    try:
        before = on.at(part.version)
    except UnknownVersion:
        return None
    unmarked = attrs.evolve(part, marked=())
    return before if on.fits([unmarked]) and before.has_row_ids and on.has_row_ids else None


def _move(part: WrittenChanges, versions: ChangeCandidates) -> WrittenChanges | None:
    before, after = versions.before.table, versions.after.table
    keeping = [each for each in part.marked if after.fits([attrs.evolve(part, marked=(each,))])]
    kept = {each.fragment for each in keeping}
    addresses: list[Any] = [np.zeros(0, np.uint64)]
    for fragment, places in before.marked_offsets(part):
        if fragment in kept:
            continue
        then = address_of(fragment, places.to_numpy().astype(np.uint64))
        changed = versions.before.holds(then)
        if changed.any() and part.rows_updated:
            return None
        addresses.append(_current_addresses(then[~changed], fragment, before, after))
    none = before.schema.empty_table()
    marks = after.write_changes(
        updated=none, row_ids=[], inserted=none, addresses=np.concatenate(addresses)
    )
    marked = (*keeping, *marks.marked)
    deleted = sum(each.rows for each in marked) - part.rows_updated
    return attrs.evolve(part, version=after.version, marked=marked, rows_deleted=deleted)


def _current_addresses(addresses: Any, fragment: int, before: Table, after: Table) -> Any:
    """Return where rows of a fragment are that did not change."""
    files, there = before.fragment_files(), after.fragment_files()
    same = [number for number, each in there.items() if each.data == files[fragment].data]
    if same:
        return address_of(same[0], offset_of(addresses))
    rows = AddressedRows(before)
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
