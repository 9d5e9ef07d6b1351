"""Changes that are written but not committed: nobody sees them, and nobody may ever.

Always: the files lie in the tree of the lineage that will commit them (elsewhere they would be
accepted and unreadable). An append may be committed on any later version that has the same columns
(on others its files would be read as what they are not); everything else was computed on one
version and holds there only. A change of no rows stages nothing to commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import lance
from lance import FragmentMetadata, LanceOperation

from omnigraph_l1._lance.failures import LanceFailure, lance_border, lance_calls
from omnigraph_l1._lance.schemas import columns_of
from omnigraph_l1._places import Place
from omnigraph_l1._table.arguments import checked_kind, checked_list
from omnigraph_l1._table.fitting import ArrowData, Fitted, fit
from omnigraph_l1._table.objects import storage_border
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1.errors import InvalidRequest

__all__ = [
    "Staged",
    "check_files",
    "check_fits",
    "refuse_repeated",
    "stage_append",
    "stage_overwrite",
    "stage_together",
    "stage_upsert",
    "staged",
    "staged_overwrite",
]

_APPEND = "append"


@attrs.frozen(kw_only=True, repr=False)
class Staged:
    """A change, ready to be committed."""

    operation_name: str
    place: str
    branch: str | None
    branch_identity: str | None
    base_version: int
    columns: str
    """The columns that it was staged for, with the numbers by which its files name them."""
    operation: LanceOperation.BaseOperation = attrs.field(eq=False)
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    replaces_all: bool = False
    rewrites_nothing: bool = False
    """Whether it changes columns or annotations only, and came with no file."""

    @property
    def is_empty(self) -> bool:
        """Whether it changes no row, so that there is nothing to commit."""
        changed = self.rows_inserted + self.rows_updated + self.rows_deleted
        return not (changed or self.replaces_all or self.rewrites_nothing)

    @property
    def fits_any_base(self) -> bool:
        """Whether it may be committed on a later version than the one it was staged on."""
        return self.operation_name == _APPEND

    def new_files(self) -> Iterator[Path]:
        """Name the files that came with it, relative to the directory of its lineage."""
        operation: Any = None if self.rewrites_nothing else self.operation
        created = [*getattr(operation, "fragments", ()), *getattr(operation, "new_fragments", ())]
        for fragment in created:
            yield from (Path("data") / file.path for file in fragment.files)
        for fragment in [*created, *getattr(operation, "updated_fragments", ())]:
            deletions = fragment.deletion_file
            if deletions is not None and deletions.base_id is None:
                yield Path(deletions.path(fragment.id))

    def __repr__(self) -> str:
        return (
            f"<staged {self.operation_name} on version {self.base_version}: "
            f"+{self.rows_inserted} ~{self.rows_updated} -{self.rows_deleted}>"
        )


def stage_append(pinned: Pinned, data: ArrowData) -> Staged:
    """Write rows as new fragments."""
    fragments, rows = _write(pinned, data)
    return staged(pinned, _APPEND, LanceOperation.Append(fragments), rows_inserted=rows)


def stage_overwrite(pinned: Pinned, data: ArrowData) -> Staged:
    """Write rows that replace all that are there. Schema, annotations and config stay."""
    return staged_overwrite(pinned, *_write(pinned, data))


def staged_overwrite(pinned: Pinned, fragments: list[FragmentMetadata], rows: int) -> Staged:
    """Describe the replacement of all rows by fragments that are written already."""
    operation = LanceOperation.Overwrite(pinned.dataset.lance_schema, fragments)
    with lance_border(pinned.place):
        replaced = pinned.dataset.count_rows()
    return staged(
        pinned,
        "overwrite",
        operation,
        rows_inserted=rows,
        rows_deleted=replaced,
        replaces_all=True,
    )


def stage_upsert(pinned: Pinned, data: ArrowData, key: str) -> Staged:
    """Write rows that replace those of the same key, or are new.

    A nullable column that the data lacks keeps its values, and is null in new rows. A key that
    stands twice in the data is refused: Lance would insert both.
    """
    pinned.refuse_stale()
    fitted = fit(data, pinned.dataset.schema, place=pinned.place, key=key, may_lack_nullable=True)
    with _reading(fitted, pinned.place):
        transaction, counts = (
            pinned.dataset.merge_insert(key)
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .conflict_retries(0)
            .execute_uncommitted(fitted.reader)
        )
    fitted.refuse_repeated_keys()
    return staged(
        pinned,
        "upsert",
        transaction.operation,
        rows_inserted=int(counts["num_inserted_rows"]),
        rows_updated=int(counts["num_updated_rows"]),
    )


def stage_together(pinned: Pinned, changes: Sequence[Staged]) -> Staged:
    """Make one append of several, in their order. Each may be part of one commit only."""
    changes = checked_list(changes, place=pinned.place, what="changes")
    for change in changes:
        checked_kind(change, Staged, place=pinned.place)
        if change.operation_name != _APPEND:
            reason = f"only appends can be committed together, not {change.operation_name}"
            raise InvalidRequest(place=str(pinned.place), reason=reason)
        check_fits(pinned, change)
    fragments = [part for change in changes for part in getattr(change.operation, "fragments", ())]
    refuse_repeated(pinned, fragments)
    rows = sum(change.rows_inserted for change in changes)
    return staged(pinned, _APPEND, LanceOperation.Append(fragments), rows_inserted=rows)


def refuse_repeated(pinned: Pinned, fragments: Sequence[FragmentMetadata]) -> None:
    """Refuse to commit one file twice at once: its rows would be there twice."""
    files = [file.path for fragment in fragments for file in fragment.files]
    if len(files) != len(set(files)):
        reason = "one change stands twice among those that shall be committed together"
        raise InvalidRequest(place=str(pinned.place), reason=reason)


def check_fits(pinned: Pinned, change: Staged) -> None:
    """Refuse a change that was staged for something else than what is pinned."""
    place = str(pinned.place)
    if change.place != place or change.branch_identity != pinned.branch_identity:
        reason = (
            f"the change was staged for {change.place}, branch {change.branch!r}, and its files "
            "are not here; stage it with a handle on what it shall change"
        )
        raise InvalidRequest(place=place, reason=reason)
    if change.branch != pinned.branch:
        reason = (
            f"the change was staged for branch {change.branch!r} and would be unreadable on "
            f"{pinned.branch!r}; stage it with a handle on that branch"
        )
        raise InvalidRequest(place=place, reason=reason)
    if change.base_version != pinned.version and not change.fits_any_base:
        reason = (
            f"the {change.operation_name} was computed on version {change.base_version} and cannot "
            f"be committed on {pinned.version}; stage it again there"
        )
        raise InvalidRequest(place=place, reason=reason)
    if change.base_version != pinned.version:
        _check_columns(pinned, change)


def check_files(pinned: Pinned, change: Staged) -> None:
    """Refuse a change whose files are gone: it was staged for a dataset that was deleted since."""
    if not pinned.place.is_local:
        return  # to look would cost a request for each
    with storage_border(pinned.place):
        gone = [file for file in change.new_files() if not (pinned.directory / file).exists()]
    if gone:
        reason = (
            f"of the files of the {change.operation_name}, {gone[0]} is gone: it was staged for "
            "what was deleted or cleaned up since; stage it again"
        )
        raise InvalidRequest(place=str(pinned.place), reason=reason)


def _check_columns(pinned: Pinned, change: Staged) -> None:
    """Refuse files of other columns.

    Lance takes them, and reads each column as the one that bears its number now.
    """
    if change.columns != columns_of(pinned.dataset.lance_schema):
        reason = (
            f"the columns were changed after the {change.operation_name} was staged on version "
            f"{change.base_version}; stage it again on {pinned.version}"
        )
        raise InvalidRequest(place=str(pinned.place), reason=reason)


def staged(
    pinned: Pinned, name: str, operation: LanceOperation.BaseOperation, **counts: Any
) -> Staged:
    """Describe a change that was computed on what is pinned."""
    return Staged(
        operation_name=name,
        place=str(pinned.place),
        branch=pinned.branch,
        branch_identity=pinned.branch_identity,
        base_version=pinned.version,
        columns=columns_of(pinned.dataset.lance_schema),
        operation=operation,
        **counts,
    )


def _write(pinned: Pinned, data: ArrowData) -> tuple[list[FragmentMetadata], int]:
    pinned.refuse_stale()
    fitted = fit(data, pinned.dataset.schema, place=pinned.place)
    with _reading(fitted, pinned.place):
        fragments = lance.fragment.write_fragments(fitted.reader, pinned.dataset, mode="append")
    return list(fragments), fitted.rows


@contextmanager
def _reading(fitted: Fitted, place: Place) -> Iterator[None]:
    """Let what the data itself raised come out as it was, and not as Lance tells it."""
    try:
        with lance_calls():
            yield
    except LanceFailure as failure:
        if fitted.failure is not None:
            raise fitted.failure from None
        raise failure.at(place) from failure.cause
