"""Deleting rows: which they are, and the deletion files that mark them. Nobody sees it yet.

Always: only fragments that hold such rows are touched, and no data is rewritten. Rows are
remembered by their place, four bytes each, while they are looked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from lance import FragmentMetadata, LanceOperation

from omnigraph_l1._lance.failures import LanceFailure, Symptom, lance_calls
from omnigraph_l1._table.fitting import key_problems
from omnigraph_l1._table.literals import all_are_literals, column_name, in_list
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._table.staging import Staged, staged
from omnigraph_l1.errors import CorruptDataset, InvalidData, InvalidFilter

__all__ = ["stage_delete", "stage_delete_keys"]

_KEYS_IN_ONE_FILTER = 2000
_OFFSET_BITS = 32
_OFFSET_MASK = (1 << _OFFSET_BITS) - 1


def stage_delete(pinned: Pinned, predicate: str) -> Staged:
    """Mark the rows that a predicate matches."""
    pinned.refuse_stale()
    try:
        with lance_calls():
            scanner = pinned.dataset.scanner(columns=[], filter=predicate, with_row_address=True)
            addresses = (batch["_rowaddr"] for batch in scanner.to_batches())
            return _stage(pinned, addresses, predicate)
    except LanceFailure as failure:
        if failure.symptom is Symptom.BAD_REQUEST:
            raise InvalidFilter(
                place=str(pinned.place), filter=predicate, reason=failure.words
            ) from failure.cause
        raise failure.at(pinned.place) from failure.cause


def stage_delete_keys(pinned: Pinned, key: str, values: Sequence[Any]) -> Staged:
    """Mark the rows with these keys. A key that is not there is passed over."""
    schema = pinned.dataset.schema
    problems = key_problems(key, schema)
    if problems:
        raise InvalidData(place=str(pinned.place), problems=tuple(problems))
    if len(values) <= _KEYS_IN_ONE_FILTER and all_are_literals(values):
        return stage_delete(pinned, in_list(key, values) if values else "false")
    pinned.refuse_stale()
    wanted = pa.array(values, schema.field(key).type)

    def matching() -> Iterator[pa.Array]:
        scanner = pinned.dataset.scanner(columns=[key], with_row_address=True)
        for batch in scanner.to_batches():
            yield batch["_rowaddr"].filter(pc.is_in(batch[key], value_set=wanted))

    try:
        with lance_calls():
            return _stage(pinned, matching(), f"{column_name(key)} is one of {len(values)} values")
    except LanceFailure as failure:
        raise failure.at(pinned.place) from failure.cause


def _stage(pinned: Pinned, addresses: Iterable[pa.Array], predicate: str) -> Staged:
    offsets: defaultdict[int, list[pa.Array]] = defaultdict(list)
    deleted = 0
    for batch in addresses:
        deleted += len(batch)
        fragments = pc.shift_right(batch, pa.scalar(_OFFSET_BITS, pa.uint64()))
        local = pc.bit_wise_and(batch, pa.scalar(_OFFSET_MASK, pa.uint64())).cast(pa.uint32())
        for fragment in pc.unique(fragments).to_pylist():
            offsets[fragment].append(local.filter(pc.equal(fragments, fragment)))
    changed: list[FragmentMetadata] = []
    emptied: list[int] = []
    for number, parts in sorted(offsets.items()):
        fragment = pinned.dataset.get_fragment(number)
        if fragment is None:
            detail = f"its index names fragment {number}, which is not there"
            raise CorruptDataset(place=str(pinned.place), detail=detail)
        marked = pa.concat_arrays(parts)
        if len(marked) == fragment.count_rows():
            emptied.append(number)
            continue
        remaining = fragment.delete_rows(marked.to_pylist())
        if remaining is None:
            emptied.append(number)
        else:
            changed.append(remaining)
    operation = LanceOperation.Delete(changed, emptied, predicate)
    return staged(pinned, "delete", operation, rows_deleted=deleted)
