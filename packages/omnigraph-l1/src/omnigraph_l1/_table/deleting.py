"""Deleting rows: which they are, and the deletion files that mark them. Nobody sees it yet.

Always: only fragments that hold such rows are touched, and no data is rewritten. Rows are
remembered by their place, four bytes each, while they are looked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from lance import FragmentMetadata, LanceOperation

from omnigraph_l1._lance.failures import LanceFailure, Symptom, lance_calls
from omnigraph_l1._table.arguments import checked_filter
from omnigraph_l1._table.keys import checked_keys, key_filters
from omnigraph_l1._table.literals import column_name
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._table.staging import Staged, staged
from omnigraph_l1.errors import CorruptDataset, InvalidFilter

__all__ = ["stage_delete", "stage_delete_keys"]

_OFFSET_BITS = 32
_OFFSET_MASK = (1 << _OFFSET_BITS) - 1
_LOOKED_AT_ONCE = 65_536


def stage_delete(pinned: Pinned, predicate: str) -> Staged:
    """Mark the rows that a predicate matches."""
    pinned.refuse_stale()
    predicate = checked_filter(predicate, place=pinned.place)
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


def stage_delete_keys(pinned: Pinned, key: str, values: Iterable[Any]) -> Staged:
    """Mark the rows with these keys. A key that is not there is passed over."""
    wanted = checked_keys(key, values, pinned.dataset.schema, place=pinned.place)
    filters = key_filters(key, wanted)
    if filters is not None and len(filters) <= 1:
        return stage_delete(pinned, filters[0] if filters else "false")
    pinned.refuse_stale()

    def matching() -> Iterator[pa.Array]:
        scanner = pinned.dataset.scanner(
            columns=[key],
            with_row_address=True,
            batch_size=_LOOKED_AT_ONCE,  # each look hashes all the keys: let there be few
        )
        for batch in scanner.to_batches():
            yield batch["_rowaddr"].filter(pc.is_in(batch[key], value_set=wanted))

    try:
        with lance_calls():
            return _stage(pinned, matching(), f"{column_name(key)} is one of {len(wanted)} values")
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
