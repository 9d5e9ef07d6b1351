"""Changes that are written but not committed: no reader sees them.

Invariant: the files lie in the tree of the lineage that will commit them (elsewhere they would be
accepted and unreadable). An append may be committed on any later version that has the same columns
(on others its files would be read as what they are not); everything else was computed on one
version and holds there only. A change of no rows stages nothing to commit.

Other processes may write fragments too: a ``WriteTarget`` lets them write files, never commit them.
What travels is plain values, picklable, without a secret in their text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import attrs
import lance
from lance import FragmentMetadata, LanceOperation

from omnigraph_l1._dataset.argument_checks import parse_list, require_kind
from omnigraph_l1._dataset.dataset_opener import open_pinned
from omnigraph_l1._dataset.durability import flush_files
from omnigraph_l1._dataset.pinned_dataset import Durability, PinnedDataset, check_branch_identity
from omnigraph_l1._lance.lance_failures import (
    LanceFailure,
    recognize_failures,
    translate_errors,
)
from omnigraph_l1._lance.private_hooks import columns_of, file_name
from omnigraph_l1._storage.location import Location, Storage
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.stored_objects import has_object, translate_os_errors
from omnigraph_l1._text_encoding import encode_json
from omnigraph_l1._write.schema_check import ArrowData, CheckedData, check_data
from omnigraph_l1.errors import InvalidRequest

__all__ = [
    "Staged",
    "WriteTarget",
    "WrittenFragments",
    "check_base",
    "check_origin",
    "check_staged_files",
    "describe_change",
    "describe_overwrite",
    "open_target",
    "refuse_repeated",
    "stage_append",
    "stage_overwrite",
    "stage_together",
    "stage_upsert",
    "stage_written",
    "write_fragments",
    "write_target",
]

_APPEND = "append"
_LOOKS_AT_ONCE: Final = 8


@attrs.frozen(kw_only=True, repr=False)
class Staged:
    """A change, ready to be committed."""

    operation_name: str
    location: str
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
        """Yield the files that came with it, relative to the directory of its lineage."""
        operation: Any = None if self.rewrites_nothing else self.operation
        created = [*getattr(operation, "fragments", ()), *getattr(operation, "new_fragments", ())]
        for fragment in created:
            yield from (Path("data") / file_name(file) for file in fragment.files)
        for fragment in [*created, *getattr(operation, "updated_fragments", ())]:
            deletions = fragment.deletion_file
            if deletions is not None and deletions.base_id is None:
                yield Path(deletions.path(fragment.id))

    def __repr__(self) -> str:
        return (
            f"<staged {self.operation_name} on version {self.base_version}: "
            f"+{self.rows_inserted} ~{self.rows_updated} -{self.rows_deleted}>"
        )


def stage_append(pinned: PinnedDataset, data: ArrowData) -> Staged:
    """Write rows as new fragments."""
    fragments, rows = _write(pinned, data)
    return describe_change(pinned, _APPEND, LanceOperation.Append(fragments), rows_inserted=rows)


def stage_overwrite(pinned: PinnedDataset, data: ArrowData) -> Staged:
    """Write rows that replace all that are there. Schema, annotations and config stay."""
    return describe_overwrite(pinned, *_write(pinned, data))


def describe_overwrite(
    pinned: PinnedDataset, fragments: list[FragmentMetadata], rows: int
) -> Staged:
    """Describe the replacement of all rows by fragments that are written already."""
    operation = LanceOperation.Overwrite(pinned.dataset.lance_schema, fragments)
    with translate_errors(pinned.location):
        replaced = run_watched(pinned.storage, pinned.dataset.count_rows)
    return describe_change(
        pinned,
        "overwrite",
        operation,
        rows_inserted=rows,
        rows_deleted=replaced,
        replaces_all=True,
    )


def stage_upsert(pinned: PinnedDataset, data: ArrowData, key: str) -> Staged:
    """Write rows that replace those of the same key, or are new.

    A nullable column that the data lacks keeps its values, and is null in new rows. A key that
    stands twice in the data is refused: Lance would insert both.
    """
    pinned.check_not_stale()
    fitted = check_data(
        data, pinned.dataset.schema, location=pinned.location, key=key, may_lack_nullable=True
    )
    with _reading(fitted, pinned.location):
        merge = (
            pinned.dataset.merge_insert(key)
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .conflict_retries(0)
        )
        transaction, counts = run_watched(
            pinned.storage, lambda: merge.execute_uncommitted(fitted.reader)
        )
    fitted.refuse_repeated_keys()
    return describe_change(
        pinned,
        "upsert",
        transaction.operation,
        rows_inserted=int(counts["num_inserted_rows"]),
        rows_updated=int(counts["num_updated_rows"]),
    )


def stage_together(pinned: PinnedDataset, changes: Sequence[Staged]) -> Staged:
    """Make one append of several, in their order. Each may be part of one commit only."""
    changes = parse_list(changes, location=pinned.location, what="changes")
    for change in changes:
        require_kind(change, Staged, location=pinned.location)
        if change.operation_name != _APPEND:
            reason = f"only appends can be committed together, not {change.operation_name}"
            raise InvalidRequest(location=str(pinned.location), reason=reason)
        check_base(pinned, change)
    fragments = [part for change in changes for part in getattr(change.operation, "fragments", ())]
    refuse_repeated(pinned, fragments)
    rows = sum(change.rows_inserted for change in changes)
    return describe_change(pinned, _APPEND, LanceOperation.Append(fragments), rows_inserted=rows)


def refuse_repeated(pinned: PinnedDataset, fragments: Sequence[FragmentMetadata]) -> None:
    """Refuse to commit one file twice at once: its rows would be there twice."""
    files = [file_name(file) for fragment in fragments for file in fragment.files]
    if len(files) != len(set(files)):
        reason = "one change stands twice among those that shall be committed together"
        raise InvalidRequest(location=str(pinned.location), reason=reason)


def check_base(pinned: PinnedDataset, change: Staged) -> None:
    """Refuse a change that was staged for something else than what is pinned."""
    location = str(pinned.location)
    if change.location != location or change.branch_identity != pinned.branch_identity:
        reason = (
            f"the change was staged for {change.location}, branch {change.branch!r}, and its files "
            "are not here; stage it with a handle on what it shall change"
        )
        raise InvalidRequest(location=location, reason=reason)
    if change.branch != pinned.branch:
        reason = (
            f"the change was staged for branch {change.branch!r} and would be unreadable on "
            f"{pinned.branch!r}; stage it with a handle on that branch"
        )
        raise InvalidRequest(location=location, reason=reason)
    if change.base_version != pinned.version and not change.fits_any_base:
        reason = (
            f"the {change.operation_name} was computed on version {change.base_version} and cannot "
            f"be committed on {pinned.version}; stage it again there"
        )
        raise InvalidRequest(location=location, reason=reason)
    if change.base_version != pinned.version:
        _check_columns(pinned, change)


def check_staged_files(pinned: PinnedDataset, change: Staged, *, ask_store: bool = False) -> None:
    """Refuse a change whose files are gone: it was staged for what was deleted or cleaned up since.

    In a store, where to look is a request for each file, only if that is asked for.
    """
    if pinned.location.is_local:
        with translate_os_errors(pinned.location):
            gone = [file for file in change.new_files() if not (pinned.directory / file).exists()]
    elif ask_store:
        lineage = Path() if pinned.branch is None else Path("tree", pinned.branch)
        files = list(change.new_files())
        looks = [
            partial(copy_context().run, has_object, pinned.storage, (lineage / file).as_posix())
            for file in files
        ]
        with ThreadPoolExecutor(_LOOKS_AT_ONCE) as looking:
            there = list(looking.map(lambda look: look(), looks))
        gone = [file for file, is_there in zip(files, there, strict=True) if not is_there]
    else:
        return
    _refuse_gone(pinned, change, gone)


def _refuse_gone(pinned: PinnedDataset, change: Staged, gone: Sequence[Path]) -> None:
    if gone:
        reason = (
            f"of the files of the {change.operation_name}, {gone[0]} is gone: it was staged for "
            "what was deleted or cleaned up since; stage it again"
        )
        raise InvalidRequest(location=str(pinned.location), reason=reason)


def _check_columns(pinned: PinnedDataset, change: Staged) -> None:
    """Refuse files of other columns.

    Lance takes them, and reads each column as the one that bears its number now.
    """
    if change.columns != columns_of(pinned.dataset.lance_schema):
        reason = (
            f"the columns were changed after the {change.operation_name} was staged on version "
            f"{change.base_version}; stage it again on {pinned.version}"
        )
        raise InvalidRequest(location=str(pinned.location), reason=reason)


def describe_change(
    pinned: PinnedDataset, name: str, operation: LanceOperation.BaseOperation, **counts: Any
) -> Staged:
    """Describe a change that was computed on what is pinned."""
    return Staged(
        operation_name=name,
        location=str(pinned.location),
        branch=pinned.branch,
        branch_identity=pinned.branch_identity,
        base_version=pinned.version,
        columns=columns_of(pinned.dataset.lance_schema),
        operation=operation,
        **counts,
    )


class Origin(Protocol):
    """For what it was written."""

    @property
    def location(self) -> str: ...
    @property
    def branch(self) -> str | None: ...
    @property
    def branch_identity(self) -> str | None: ...
    @property
    def columns(self) -> str: ...


@attrs.frozen(kw_only=True)
class WrittenFragments:
    """What one writer wrote, to be sent home."""

    location: str
    branch: str | None
    branch_identity: str | None = attrs.field(default=None, repr=False)
    """Distinguishes this branch from an earlier one of the same name; None on main."""
    columns: str = attrs.field(repr=False)
    """The columns that they were written for, with the numbers by which the files name them."""
    fragments: tuple[str, ...] = attrs.field(repr=False)
    rows: int
    size_bytes: int


@attrs.frozen(kw_only=True)
class WriteTarget:
    """Where another process may write rows for one lineage."""

    storage: Storage
    branch: str | None
    branch_identity: str | None = attrs.field(default=None, repr=False)
    version: int
    durability: Durability

    def write(self, data: ArrowData) -> WrittenFragments:
        """Write rows as fragments that no reader sees yet, and flush them if needed."""
        return write_fragments(open_target(self), data)


def open_target(where: WriteTarget) -> PinnedDataset:
    """Open what a target points to."""
    if where.branch is not None and where.branch_identity is not None:
        check_branch_identity(where.storage, where.branch, where.branch_identity)
    return open_pinned(
        where.storage, branch=where.branch, version=where.version, durability=where.durability
    )


def write_fragments(pinned: PinnedDataset, data: ArrowData) -> WrittenFragments:
    """Write rows as fragments that no reader sees yet, with a handle that is open already."""
    change = stage_append(pinned, data)
    flush_files(pinned, change.new_files())
    fragments: list[FragmentMetadata] = list(getattr(change.operation, "fragments", ()))
    return WrittenFragments(
        location=str(pinned.location),
        branch=pinned.branch,
        branch_identity=pinned.branch_identity,
        columns=change.columns,
        fragments=tuple(encode_json(fragment.to_json()) for fragment in fragments),
        rows=change.rows_inserted,
        size_bytes=sum(file.file_size_bytes or 0 for part in fragments for file in part.files),
    )


def write_target(pinned: PinnedDataset) -> WriteTarget:
    """Return what another process needs to write for this lineage."""
    return WriteTarget(
        storage=pinned.storage,
        branch=pinned.branch,
        branch_identity=pinned.branch_identity,
        version=pinned.version,
        durability=pinned.durability,
    )


def stage_written(
    pinned: PinnedDataset, written: Iterable[WrittenFragments], *, replace_all: bool
) -> Staged:
    """Take what was written for this lineage, to be added, or to replace all rows."""
    location = pinned.location
    parts = [
        require_kind(part, WrittenFragments, location=location)
        for part in parse_list(written, location=location, what="fragments")
    ]
    columns = columns_of(pinned.dataset.lance_schema)
    for part in parts:
        check_origin(pinned, part, columns)
    fragments = [FragmentMetadata.from_json(text) for part in parts for text in part.fragments]
    refuse_repeated(pinned, fragments)
    rows = sum(part.rows for part in parts)
    if replace_all:
        return describe_overwrite(pinned, fragments, rows)
    return describe_change(pinned, _APPEND, LanceOperation.Append(fragments), rows_inserted=rows)


def check_origin(pinned: PinnedDataset, part: Origin, columns: str) -> None:
    """Refuse what was written for another lineage, or for other columns."""
    if (part.location, part.branch) != (str(pinned.location), pinned.branch):
        reason = (
            f"fragments written for {part.location}, branch {part.branch!r}, cannot be read from "
            f"branch {pinned.branch!r} here; write them with this handle's target"
        )
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    if part.branch_identity != pinned.branch_identity:
        reason = (
            f"these fragments were written for another branch that was called {part.branch!r}; "
            "write them with this handle's target"
        )
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    if part.columns != columns:
        reason = "the columns were changed after these fragments were written; write them again"
        raise InvalidRequest(location=str(pinned.location), reason=reason)


def _write(pinned: PinnedDataset, data: ArrowData) -> tuple[list[FragmentMetadata], int]:
    pinned.check_not_stale()
    fitted = check_data(data, pinned.dataset.schema, location=pinned.location)
    with _reading(fitted, pinned.location):
        fragments = run_watched(
            pinned.storage,
            lambda: lance.fragment.write_fragments(fitted.reader, pinned.dataset, mode="append"),
        )
    return list(fragments), fitted.rows


@contextmanager
def _reading(fitted: CheckedData, location: Location) -> Iterator[None]:
    """Raise what the data itself raised, instead of Lance's text of it."""
    try:
        with recognize_failures():
            yield
    except LanceFailure as failure:
        if fitted.failure is not None:
            raise fitted.failure from None
        raise failure.at(location) from failure.cause
