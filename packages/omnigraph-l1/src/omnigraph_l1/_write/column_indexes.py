"""Indexes of columns: built next to the data, committed when complete, extended as rows are added.

Invariant: an index is written and flushed before the commit that names it, and every commit carries
an id. Extending reads the fragments that are not indexed yet, together with indexed parts that are
not larger than them: so the parts stay few, and each row is indexed again a logarithmic number of
times. An index is never needed for a right answer.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Final

import attrs
import pyarrow as pa
from lance import LanceOperation, Transaction
from lance.bitmap import Bitmap
from lance.dataset import Index

from omnigraph_l1._dataset.argument_checks import key_problems
from omnigraph_l1._dataset.durability import flush_files, flush_version, flushing_written
from omnigraph_l1._dataset.pinned_dataset import (
    IndexInfo,
    PinnedDataset,
    list_indexes,
    physical_rows,
)
from omnigraph_l1._events import time_event
from omnigraph_l1._lance.lance_failures import translate_errors
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._text_encoding import is_text, new_ulid
from omnigraph_l1._write.table_commit import (
    CommitResult,
    commit_once,
    flushed_note,
    prepare_to_write,
    unchanged_result,
)
from omnigraph_l1.errors import DataProblem, InvalidData, InvalidRequest
from omnigraph_l1.failpoints import declare, failpoint

__all__ = ["IndexKind", "create_index", "drop_index", "extend_index"]

_MOST_PARTITIONS: Final = 4_096

_BUILT = declare("l1.index.built", "the files of an index are written, but not committed")
_VISIBLE = declare("l1.index.visible", "the version with the index is visible, not yet flushed")


class IndexKind(Enum):
    """The indexes that can be built here."""

    BTREE = "BTREE"
    BITMAP = "BITMAP"
    ZONEMAP = "ZONEMAP"
    BLOOMFILTER = "BLOOMFILTER"
    NGRAM = "NGRAM"
    INVERTED = "INVERTED"
    """Words of a text."""
    IVF_FLAT = "IVF_FLAT"
    """Vectors that are near, by L2 distance."""


@attrs.frozen(kw_only=True)
class _Part:
    uuid: str
    fragments: frozenset[int]
    rows: int
    """How many rows of fragments that still are there it covers."""
    dataset_version: int
    index_version: int


def create_index(
    pinned: PinnedDataset,
    column: str,
    kind: IndexKind = IndexKind.BTREE,
    *,
    name: str | None = None,
) -> CommitResult:
    """Build an index over all rows. On an empty table there is nothing to build."""
    problems = key_problems(column, pinned.dataset.schema)
    if not problems and kind is IndexKind.IVF_FLAT:
        problems = _vector_problems(column, pinned.dataset.schema.field(column).type)
    if problems:
        raise InvalidData(location=str(pinned.location), problems=tuple(problems))
    chosen = f"{column}_{kind.value.lower()}" if name is None else name
    if not chosen or not is_text(chosen):
        reason = f"the name of an index is text, not {chosen!a}"
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    if chosen in list_indexes(pinned):
        reason = f"there is an index {chosen!r} already; extend it, or drop it first"
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    fragments = physical_rows(pinned)
    if not fragments:
        return unchanged_result(pinned, "")
    return _replace_parts(
        pinned, column=column, kind=kind, name=chosen, fragments=list(fragments), replaced=()
    )


def extend_index(pinned: PinnedDataset, name: str) -> CommitResult:
    """Index what was added since, and join parts that are small compared with it."""
    info = _find_index(pinned, name)
    rows = physical_rows(pinned)
    parts = _parts(pinned, name, rows)
    covered = {number for part in parts for number in part.fragments}
    chosen = [number for number in rows if number not in covered]
    if not chosen:
        return unchanged_result(pinned, "")
    size = sum(rows[number] for number in chosen)
    joined: list[_Part] = []
    for part in sorted(parts, key=lambda part: part.rows):
        if part.rows > size:
            break
        joined.append(part)
        size += part.rows
        chosen += [number for number in part.fragments if number in rows]
    kind = IndexKind(info.kind)
    return _replace_parts(
        pinned,
        column=info.columns[0],
        kind=kind,
        name=name,
        fragments=sorted(chosen),
        replaced=joined,
    )


def drop_index(pinned: PinnedDataset, name: str) -> CommitResult:
    """Take an index out of the newest version. Older versions keep it."""
    _find_index(pinned, name)
    parts = _parts(pinned, name, physical_rows(pinned))
    return _commit_parts(pinned, name, (), parts)


def _find_index(pinned: PinnedDataset, name: str) -> IndexInfo:
    known = list_indexes(pinned)
    if not is_text(name) or name not in known:
        reason = f"it has no index {name!r}; its indexes are: {', '.join(known) or 'none'}"
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    return known[name]


def _parts(pinned: PinnedDataset, name: str, rows: Mapping[int, int]) -> list[_Part]:
    with translate_errors(pinned.location):
        known = run_watched(pinned.storage, pinned.dataset.describe_indices)
        (description,) = (d for d in known if d.name == name)
    return [
        _Part(
            uuid=segment.uuid,
            fragments=frozenset(segment.fragment_ids),
            rows=sum(rows.get(number, 0) for number in segment.fragment_ids),
            dataset_version=segment.dataset_version_at_last_update,
            index_version=segment.index_version,
        )
        for segment in description.segments
    ]


def _replace_parts(
    pinned: PinnedDataset,
    *,
    column: str,
    kind: IndexKind,
    name: str,
    fragments: list[int],
    replaced: Sequence[_Part],
) -> CommitResult:
    prepare_to_write(pinned)
    with (
        time_event("index", location=str(pinned.location), index=name, fragments=len(fragments)),
        translate_errors(pinned.location),
    ):
        # Lance refuses to build a part under a name that is taken.
        building = pinned.copy_handle()
        built = run_watched(
            pinned.storage,
            lambda: building.create_index_uncommitted(
                column,
                kind.value,
                name=f"{name}-{new_ulid()}",
                fragment_ids=fragments,
                **_index_options(pinned, kind, fragments),
            ),
        )
        if kind is IndexKind.INVERTED:
            # Until it is merged with itself Lance has its files in a folder where it does not look.
            segments = [built]
            built = run_watched(
                pinned.storage, lambda: building.merge_existing_index_segments(segments)
            )
        part = dataclasses.replace(built, name=name)
    folder = Path("_indices") / part.uuid
    flush_files(pinned, (folder / file.path for file in part.files or ()))
    failpoint(_BUILT)
    return _commit_parts(pinned, name, (part,), replaced)


def _index_options(pinned: PinnedDataset, kind: IndexKind, fragments: list[int]) -> dict[str, Any]:
    if kind is not IndexKind.IVF_FLAT:
        return {}
    present = physical_rows(pinned)
    rows = sum(present[number] for number in fragments)
    # Each part has centroids of its own, so that parts can be built one by one.
    return {"metric": "L2", "num_partitions": max(1, min(math.isqrt(rows), _MOST_PARTITIONS))}


def _vector_problems(column: str, type_: pa.DataType) -> list[DataProblem]:
    if pa.types.is_fixed_size_list(type_) and pa.types.is_floating(type_.value_type):
        return []
    problem = f"is {type_}; a vector index is for fixed-size lists of floats"
    return [DataProblem(column, problem)]


def _commit_parts(
    pinned: PinnedDataset, name: str, added: Sequence[Index], removed: Sequence[_Part]
) -> CommitResult:
    prepare_to_write(pinned)
    known = run_watched(pinned.storage, pinned.dataset.describe_indices)
    fields = [f.fields for f in known if f.name == name]
    gone = [
        Index(
            uuid=part.uuid,
            name=name,
            fields=list(fields[0]),
            dataset_version=part.dataset_version,
            fragment_ids=Bitmap(part.fragments),
            index_version=part.index_version,
        )
        for part in removed
    ]
    transaction = Transaction(
        read_version=pinned.version,
        operation=LanceOperation.CreateIndex(new_indices=list(added), removed_indices=gone),
        transaction_properties=flushed_note(pinned),
    )
    dataset = commit_once(pinned, transaction, "index")
    failpoint(_VISIBLE)
    done = pinned.at(dataset)
    with flushing_written(done, transaction.uuid):
        flush_version(done)
    return CommitResult(
        pinned=done,
        base_version=pinned.version,
        transaction_id=transaction.uuid,
        follows_base=done.version == pinned.version + 1,
        changed=True,
    )
