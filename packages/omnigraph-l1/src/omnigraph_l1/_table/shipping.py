"""Fragments that other processes write, and bring home as text to be committed in one go.

Always: what travels is plain values, picklable, without a secret in their text. A target lets
others write files, never commit them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Protocol

import attrs
from lance import FragmentMetadata, LanceOperation

from omnigraph_l1._lance.schemas import columns_of
from omnigraph_l1._places import Storage
from omnigraph_l1._table.arguments import checked_kind, checked_list
from omnigraph_l1._table.branch_identity import check_branch_identity
from omnigraph_l1._table.fitting import ArrowData
from omnigraph_l1._table.flushing import flush_staged
from omnigraph_l1._table.opening import open_pinned
from omnigraph_l1._table.pinned import Durability, Pinned
from omnigraph_l1._table.staging import (
    Staged,
    refuse_repeated,
    stage_append,
    staged,
    staged_overwrite,
)
from omnigraph_l1.errors import InvalidRequest

__all__ = [
    "WriteTarget",
    "WrittenFragments",
    "check_origin",
    "opened",
    "stage_written",
    "target",
    "write",
]


class Origin(Protocol):
    """For what it was written."""

    @property
    def place(self) -> str: ...
    @property
    def branch(self) -> str | None: ...
    @property
    def branch_identity(self) -> str | None: ...
    @property
    def columns(self) -> str: ...


@attrs.frozen(kw_only=True)
class WrittenFragments:
    """What one writer wrote, to be sent home."""

    place: str
    branch: str | None
    branch_identity: str | None = attrs.field(default=None, repr=False)
    """What tells this branch from another that bore its name; None on main."""
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
        """Write rows as fragments that nobody sees yet, and flush them where that is needed."""
        return write(opened(self), data)


def opened(where: WriteTarget) -> Pinned:
    """Open what a target points to."""
    if where.branch is not None and where.branch_identity is not None:
        check_branch_identity(where.storage, where.branch, where.branch_identity)
    return open_pinned(
        where.storage, branch=where.branch, version=where.version, durability=where.durability
    )


def write(pinned: Pinned, data: ArrowData) -> WrittenFragments:
    """Write rows as fragments that nobody sees yet, with a handle that is open already."""
    change = stage_append(pinned, data)
    flush_staged(pinned, change)
    fragments: list[FragmentMetadata] = list(getattr(change.operation, "fragments", ()))
    return WrittenFragments(
        place=str(pinned.place),
        branch=pinned.branch,
        branch_identity=pinned.branch_identity,
        columns=change.columns,
        fragments=tuple(json.dumps(fragment.to_json()) for fragment in fragments),
        rows=change.rows_inserted,
        size_bytes=sum(file.file_size_bytes or 0 for part in fragments for file in part.files),
    )


def target(pinned: Pinned) -> WriteTarget:
    """Give what another process needs to write for this lineage."""
    return WriteTarget(
        storage=pinned.storage,
        branch=pinned.branch,
        branch_identity=pinned.branch_identity,
        version=pinned.version,
        durability=pinned.durability,
    )


def stage_written(
    pinned: Pinned, written: Iterable[WrittenFragments], *, replace_all: bool
) -> Staged:
    """Take what was written for this lineage, to be added, or to replace all rows."""
    place = pinned.place
    parts = [
        checked_kind(part, WrittenFragments, place=place)
        for part in checked_list(written, place=place, what="fragments that were written")
    ]
    columns = columns_of(pinned.dataset.lance_schema)
    for part in parts:
        check_origin(pinned, part, columns)
    fragments = [FragmentMetadata.from_json(text) for part in parts for text in part.fragments]
    refuse_repeated(pinned, fragments)
    rows = sum(part.rows for part in parts)
    if replace_all:
        return staged_overwrite(pinned, fragments, rows)
    return staged(pinned, "append", LanceOperation.Append(fragments), rows_inserted=rows)


def check_origin(pinned: Pinned, part: Origin, columns: str) -> None:
    """Refuse what was written for another lineage, or for other columns."""
    if (part.place, part.branch) != (str(pinned.place), pinned.branch):
        reason = (
            f"fragments written for {part.place}, branch {part.branch!r}, cannot be read from "
            f"branch {pinned.branch!r} here; write them with this handle's target"
        )
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    if part.branch_identity != pinned.branch_identity:
        reason = (
            f"these fragments were written for another branch that was called {part.branch!r}; "
            "write them with this handle's target"
        )
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    if part.columns != columns:
        reason = "the columns were changed after these fragments were written; write them again"
        raise InvalidRequest(place=str(pinned.place), reason=reason)
