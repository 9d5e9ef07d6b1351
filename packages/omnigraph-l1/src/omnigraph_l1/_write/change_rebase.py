"""Rebase staged deletes and changes of rows onto a later version of their lineage.

pylance's operations do not carry the rows that they affect, so that Lance refuses two changes of
one fragment even where their rows differ. Here each row that is taken out is looked for in the
later version: at its offset, if the fragment has the same files there, otherwise by its row id.
Only deletion marks are written again.

Invariants: a change is rebased only if every row that it takes out is there, unchanged. The caller
names the version, and the change then contains exactly what that version contains: a head that was
never published is never taken by itself. Memory is a few numbers for each row that is taken out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs
import numpy as np

from omnigraph_l1._dataset.argument_checks import require_kind
from omnigraph_l1._dataset.dataset_opener import at_version
from omnigraph_l1._dataset.pinned_dataset import PinnedDataset, fragment_files, has_row_ids
from omnigraph_l1._lance.private_hooks import columns_of
from omnigraph_l1._read.deletion_vectors import deleted_rows
from omnigraph_l1._read.row_reader import scan
from omnigraph_l1._transaction_kinds import Resolution, TransactionKind
from omnigraph_l1._write.row_changes import (
    Marked,
    WrittenChanges,
    describe_marks,
    fits,
    mark_addresses,
    marked_offsets,
    marks_of,
)
from omnigraph_l1._write.staged_changes import Staged, check_origin
from omnigraph_l1.errors import CommitConflict, InvalidRequest
from omnigraph_l1.row_addresses import ADDRESS, Addresses, address_of, fragment_of

__all__ = ["rebase", "rebase_changes"]

_FACTS: Final = ("_rowid", "_row_last_updated_at_version", ADDRESS)
_ROW_ID, _CHANGED, _AT = range(3)
_NONE: Final = np.zeros(0, np.uint64)
_MADE_OF_MARKS: Final = ("delete", "change")


def rebase(pinned: PinnedDataset, staged: Staged) -> Staged:
    """Return the same change for the pinned version."""
    location = pinned.location
    if require_kind(staged, Staged, location=location).base_version == pinned.version:
        return staged
    check_origin(pinned, staged, columns_of(pinned.dataset.lance_schema))
    if staged.fits_any_base or staged.is_empty:
        return attrs.evolve(staged, base_version=pinned.version)
    if staged.operation_name not in _MADE_OF_MARKS:
        reason = (
            f"the {staged.operation_name} was computed from the rows of version "
            f"{staged.base_version} and cannot be rebased; stage it again on {pinned.version}"
        )
        raise InvalidRequest(location=str(location), reason=reason)
    before = at_version(pinned, staged.base_version)
    marks, lost = _move(before, pinned, marks_of(before, staged))
    operation: Any = staged.operation
    if lost:
        raise _conflict(pinned, staged.operation_name, staged.base_version, lost)
    new = list(getattr(operation, "new_fragments", ()))
    return attrs.evolve(
        staged,
        base_version=pinned.version,
        operation=describe_marks(
            pinned, marks, new, getattr(operation, "predicate", "rows at given addresses")
        ).operation,
    )


def rebase_changes(pinned: PinnedDataset, written: WrittenChanges) -> WrittenChanges:
    """Return the same changes for the pinned version.

    A row that is gone is a conflict, though it was to be deleted: another may have its id by now.
    """
    written = require_kind(written, WrittenChanges, location=pinned.location)
    if fits(pinned, [written]):
        return written
    check_origin(pinned, written, columns_of(pinned.dataset.lance_schema))
    before = at_version(pinned, written.version)
    marks, lost = _move(before, pinned, written.marked)
    if lost:
        raise _conflict(pinned, "change", written.version, lost)
    deleted = sum(each.rows for each in marks) - written.rows_updated
    return attrs.evolve(written, version=pinned.version, marked=tuple(marks), rows_deleted=deleted)


def _conflict(pinned: PinnedDataset, name: str, base: int, lost: int) -> CommitConflict:
    return CommitConflict(
        location=str(pinned.location),
        branch=pinned.branch,
        operation=name,
        base_version=base,
        resolution=Resolution.RETRYABLE,
        detail=f"{lost} of its rows were changed or deleted up to version {pinned.version}",
        ours=TransactionKind.DELETE if name == "delete" else TransactionKind.UPDATE,
    )


def _move(
    before: PinnedDataset,
    after: PinnedDataset,
    marked: Sequence[Marked],
) -> tuple[list[Marked], int]:
    """Return the marks of the same rows in a later version, and how many rows stand in the way."""
    files, files_now = fragment_files(before), fragment_files(after)
    there = {each.data: number for number, each in files_now.items()}
    kept: list[Marked] = []
    addresses, displaced = [_NONE], [_NONE]
    for each in marked:
        if files_now.get(each.fragment) == files[each.fragment]:
            kept.append(each)
            continue
        offsets = marked_offsets(before, each).astype(np.uint64)
        now = there.get(files[each.fragment].data)
        gone = None if now is None else deleted_rows(after, now)
        if now is None or gone is None:
            displaced.append(address_of(each.fragment, offsets))
            continue
        away = np.isin(offsets, gone.to_numpy())
        addresses.append(address_of(now, offsets[~away]))
        displaced.append(address_of(each.fragment, offsets[away]))
    wanted = np.concatenate(displaced)
    known = {each.data for each in files.values()}
    new = [number for data, number in there.items() if data not in known]
    found, lost = _find_rows(before, after, wanted, new)
    if lost:
        return [], lost
    return [*kept, *mark_addresses(after, np.concatenate([*addresses, found]))], 0


def _find_rows(
    before: PinnedDataset,
    after: PinnedDataset,
    wanted: Addresses,
    new: Sequence[int],
) -> tuple[Addresses, int]:
    """Find rows by their ids in new fragments; return their addresses, and how many changed."""
    if not len(wanted):
        return _NONE, 0
    if not (has_row_ids(before) and has_row_ids(after)):
        return _NONE, len(wanted)
    mine = _facts(before, np.unique(fragment_of(wanted)).tolist(), _AT, wanted)
    theirs = _facts(after, new, _ROW_ID, mine[:, _ROW_ID])
    _, own, others = np.intersect1d(
        mine[:, _ROW_ID], theirs[:, _ROW_ID], assume_unique=True, return_indices=True
    )
    same = (mine[own, _CHANGED] == theirs[others, _CHANGED]) & (mine[own, _CHANGED] > 0)
    lost = int((~same).sum()) + len(wanted) - len(own)
    return theirs[others[same], _AT], lost


def _facts(
    pinned: PinnedDataset, fragments: Sequence[int], column: int, among: Addresses
) -> Addresses:
    """Return id, last change and address of the rows whose value in a column is among some."""

    def parts() -> Iterator[Addresses]:
        for batch in scan(pinned, columns=_FACTS, fragments=fragments):
            columns = [each.fill_null(0).to_numpy() for each in batch.columns]
            rows = np.stack(columns, axis=1)
            yield rows[np.isin(rows[:, column], among)]

    return np.concatenate([np.zeros((0, len(_FACTS)), np.uint64), *parts()])
