"""Deletes that are written but not committed: which rows they mark, by a predicate or by keys.

Invariant: a row is found in the pinned version, and marked there; the change holds on that version
only. A fragment of which no row is left is dropped as a whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance import FragmentMetadata, LanceOperation

from omnigraph_l1._dataset.argument_checks import parse_filter
from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._lance.lance_failures import LanceFailure, Symptom, recognize_failures
from omnigraph_l1._read.row_reader import column_name, key_filters, parse_keys
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._write.staged_changes import Staged, describe_change
from omnigraph_l1.errors import CorruptDataset, InvalidFilter
from omnigraph_l1.row_addresses import fragment_of, offset_of

__all__ = ["stage_delete", "stage_delete_keys"]

_LOOKED_AT_ONCE = 65_536


def stage_delete(pinned: PinnedDataset, predicate: str) -> Staged:
    """Mark the rows that a predicate matches."""
    pinned.check_not_stale()
    predicate = parse_filter(predicate, location=pinned.location)
    try:
        with recognize_failures():
            scanner = pinned.dataset.scanner(columns=[], filter=predicate, with_row_address=True)
            addresses = (batch["_rowaddr"] for batch in scanner.to_batches())
            return run_watched(pinned.storage, lambda: _stage(pinned, addresses, predicate))
    except LanceFailure as failure:
        if failure.symptom is Symptom.BAD_REQUEST:
            raise InvalidFilter(
                location=str(pinned.location), filter=predicate, reason=failure.words
            ) from failure.cause
        raise failure.at(pinned.location) from failure.cause


def stage_delete_keys(pinned: PinnedDataset, key: str, values: Iterable[Any]) -> Staged:
    """Mark the rows with these keys. A key that is not there is passed over."""
    wanted = parse_keys(key, values, pinned.dataset.schema, location=pinned.location)
    filters = key_filters(key, wanted)
    if filters is not None and len(filters) <= 1:
        return stage_delete(pinned, filters[0] if filters else "false")
    pinned.check_not_stale()

    def matching() -> Iterator[pa.Array]:
        scanner = pinned.dataset.scanner(
            columns=[key],
            with_row_address=True,
            batch_size=_LOOKED_AT_ONCE,  # each look hashes all the keys: let there be few
        )
        for batch in scanner.to_batches():
            yield batch["_rowaddr"].filter(pc.is_in(batch[key], value_set=wanted))

    try:
        with recognize_failures():
            said = f"{column_name(key)} is one of {len(wanted)} values"
            return run_watched(pinned.storage, lambda: _stage(pinned, matching(), said))
    except LanceFailure as failure:
        raise failure.at(pinned.location) from failure.cause


def _stage(pinned: PinnedDataset, addresses: Iterable[pa.Array], predicate: str) -> Staged:
    offsets: defaultdict[int, list[Any]] = defaultdict(list)
    deleted = 0
    for batch in addresses:
        deleted += len(batch)
        rows = batch.to_numpy()
        fragments, local = fragment_of(rows), offset_of(rows).astype(np.uint32)
        for fragment in np.unique(fragments).tolist():
            offsets[fragment].append(local[fragments == fragment])
    changed: list[FragmentMetadata] = []
    emptied: list[int] = []
    for number, parts in sorted(offsets.items()):
        fragment = pinned.dataset.get_fragment(number)
        if fragment is None:
            detail = f"its index names fragment {number}, which is not there"
            raise CorruptDataset(location=str(pinned.location), detail=detail)
        marked = np.concatenate(parts)
        if len(marked) == fragment.count_rows():
            emptied.append(number)
            continue
        remaining = fragment.delete_rows(marked.tolist())
        if remaining is None:
            emptied.append(number)
        else:
            changed.append(remaining)
    operation = LanceOperation.Delete(changed, emptied, predicate)
    return describe_change(pinned, "delete", operation, rows_deleted=deleted)
