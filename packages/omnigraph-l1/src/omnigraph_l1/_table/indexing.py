"""Indexes of columns: built beside the data, committed when whole, extended as rows are added.

Always: an index is written and flushed before the commit that names it, and every commit carries
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

from omnigraph_l1._events import timed
from omnigraph_l1._failpoints import declare, failpoint
from omnigraph_l1._lance.failures import lance_border
from omnigraph_l1._table.committing import ready_to_write
from omnigraph_l1._table.fitting import key_problems
from omnigraph_l1._table.flushing import flush_files, flush_version
from omnigraph_l1._table.outcomes import Outcome, commit_once, unchanged
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._text import is_text
from omnigraph_l1._ulid import new_ulid
from omnigraph_l1.errors import DataProblem, InvalidData, InvalidRequest

__all__ = ["IndexInfo", "IndexKind", "create_index", "drop_index", "extend_index", "list_indexes"]

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
class IndexInfo:
    """An index, and how much of the table it covers."""

    name: str
    columns: tuple[str, ...]
    kind: str
    parts: int
    indexed_fragments: int
    unindexed_fragments: int


@attrs.frozen(kw_only=True)
class _Part:
    uuid: str
    fragments: frozenset[int]
    rows: int
    """How many rows of fragments that still are there it covers."""
    dataset_version: int
    index_version: int


def list_indexes(pinned: Pinned) -> dict[str, IndexInfo]:
    """List the indexes, by name."""
    pinned.guard.check()
    present = _fragment_rows(pinned)
    found = {}
    with lance_border(pinned.place):
        for description in pinned.dataset.describe_indices():
            covered = {n for part in description.segments for n in part.fragment_ids}
            found[description.name] = IndexInfo(
                name=description.name,
                columns=tuple(description.field_names),
                kind=str(description.index_type).upper(),
                parts=len(description.segments),
                indexed_fragments=len(covered & present.keys()),
                unindexed_fragments=len(present.keys() - covered),
            )
    return found


def create_index(
    pinned: Pinned, column: str, kind: IndexKind = IndexKind.BTREE, *, name: str | None = None
) -> Outcome:
    """Build an index over all rows. On an empty table there is nothing to build."""
    problems = key_problems(column, pinned.dataset.schema)
    if not problems and kind is IndexKind.IVF_FLAT:
        problems = _vector_problems(column, pinned.dataset.schema.field(column).type)
    if problems:
        raise InvalidData(place=str(pinned.place), problems=tuple(problems))
    chosen = f"{column}_{kind.value.lower()}" if name is None else name
    if not chosen or not is_text(chosen):
        reason = f"the name of an index is text, not {chosen!a}"
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    if chosen in list_indexes(pinned):
        reason = f"there is an index {chosen!r} already; extend it, or drop it first"
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    fragments = _fragment_rows(pinned)
    if not fragments:
        return unchanged(pinned, "")
    return _replace_parts(
        pinned, column=column, kind=kind, name=chosen, fragments=list(fragments), replaced=()
    )


def extend_index(pinned: Pinned, name: str) -> Outcome:
    """Index what was added since, and join parts that are small beside it."""
    info = _known(pinned, name)
    rows = _fragment_rows(pinned)
    parts = _parts(pinned, name, rows)
    covered = {number for part in parts for number in part.fragments}
    chosen = [number for number in rows if number not in covered]
    if not chosen:
        return unchanged(pinned, "")
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


def drop_index(pinned: Pinned, name: str) -> Outcome:
    """Take an index out of the newest version. Older versions keep it."""
    _known(pinned, name)
    parts = _parts(pinned, name, _fragment_rows(pinned))
    return _commit_parts(pinned, name, (), parts)


def _known(pinned: Pinned, name: str) -> IndexInfo:
    known = list_indexes(pinned)
    if not is_text(name) or name not in known:
        reason = f"it has no index {name!r}; its indexes are: {', '.join(known) or 'none'}"
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    return known[name]


def _fragment_rows(pinned: Pinned) -> dict[int, int]:
    with lance_border(pinned.place):
        return {f.fragment_id: f.physical_rows for f in pinned.dataset.get_fragments()}


def _parts(pinned: Pinned, name: str, rows: Mapping[int, int]) -> list[_Part]:
    with lance_border(pinned.place):
        (description,) = (d for d in pinned.dataset.describe_indices() if d.name == name)
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
    pinned: Pinned,
    *,
    column: str,
    kind: IndexKind,
    name: str,
    fragments: list[int],
    replaced: Sequence[_Part],
) -> Outcome:
    ready_to_write(pinned)
    with (
        timed("index", place=str(pinned.place), index=name, fragments=len(fragments)),
        lance_border(pinned.place),
    ):
        # Lance refuses to build a part under a name that is taken.
        built = pinned.dataset.create_index_uncommitted(
            column,
            kind.value,
            name=f"{name}-{new_ulid()}",
            fragment_ids=fragments,
            **_how(pinned, kind, fragments),
        )
        if kind is IndexKind.INVERTED:
            # Until it is merged with itself Lance has its files in a folder where it does not look.
            built = pinned.dataset.merge_existing_index_segments([built])
        part = dataclasses.replace(built, name=name)
    folder = Path("_indices") / part.uuid
    flush_files(pinned, (folder / file.path for file in part.files or ()))
    failpoint(_BUILT)
    return _commit_parts(pinned, name, (part,), replaced)


def _how(pinned: Pinned, kind: IndexKind, fragments: list[int]) -> dict[str, Any]:
    if kind is not IndexKind.IVF_FLAT:
        return {}
    present = _fragment_rows(pinned)
    rows = sum(present[number] for number in fragments)
    # Each part has centroids of its own, so that parts can be built one by one.
    return {"metric": "L2", "num_partitions": max(1, min(math.isqrt(rows), _MOST_PARTITIONS))}


def _vector_problems(column: str, type_: pa.DataType) -> list[DataProblem]:
    if pa.types.is_fixed_size_list(type_) and pa.types.is_floating(type_.value_type):
        return []
    problem = f"is {type_}; a vector index is for fixed-size lists of floats"
    return [DataProblem(column, problem)]


def _commit_parts(
    pinned: Pinned, name: str, added: Sequence[Index], removed: Sequence[_Part]
) -> Outcome:
    ready_to_write(pinned)
    fields = [f.fields for f in pinned.dataset.describe_indices() if f.name == name]
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
    )
    dataset = commit_once(pinned, transaction, "index")
    failpoint(_VISIBLE)
    done = pinned.at(dataset)
    flush_version(done)
    return Outcome(
        pinned=done,
        base_version=pinned.version,
        transaction_id=transaction.uuid,
        follows_base=done.version == pinned.version + 1,
        changed=True,
    )
