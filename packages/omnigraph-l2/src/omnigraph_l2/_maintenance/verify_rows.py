"""Check the rows of one branch of the catalog, each by itself and all together. Pure.

Invariant: every row that breaks the format is reported, not only the first. The remaining rows are
what a reader would see without those.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import attrs

from omnigraph_l2._catalog.catalog_state import CatalogState, empty_state, fold, later_rows
from omnigraph_l2._catalog.manifest_rows import (
    OPERATION,
    PUBLISH,
    RUN_READ,
    TABLE,
    TABLE_VERSION,
    TOMBSTONE,
    ManifestRow,
)
from omnigraph_l2._maintenance.verify_report import Collector
from omnigraph_l2.errors import CorruptRepository

__all__ = ["sound_state"]

_KNOWN = frozenset({TABLE, TABLE_VERSION, TOMBSTONE, PUBLISH, OPERATION, RUN_READ})
_REMEDY = "read an older version of the catalog, or bring __manifest back from a copy"


def sound_state(
    rows: Sequence[ManifestRow],
    *,
    location: str,
    native: str | None,
    version: int,
    subject: str,
    may_repeat: bool,
    collector: Collector,
) -> tuple[CatalogState, bool]:
    """Check the rows; return the state of the valid ones, and whether all are valid."""
    collector.count("catalog rows", len(rows))
    empty = attrs.evolve(empty_state(location, native), version=version)
    where = f" of {subject}"
    unsound: set[int] = set()
    registering: dict[str, ManifestRow] = {}
    for row in rows:
        if row.object_type == TABLE and not _problem(empty, [row], where, unsound, collector):
            registering.setdefault(row.table_key, row)
    for row in rows:
        if row.object_type in _KNOWN - {TABLE}:
            its = registering.get(row.table_key)
            together = [row] if its is None else [its, row]
            _problem(empty, together, where, unsound, collector)
    if not may_repeat:
        _check_repeated(rows, where, unsound, collector)
    sound = [row for row in rows if id(row) not in unsound]
    try:
        state = fold(empty, sound, version)
    except CorruptRepository as error:
        collector.error("catalog-row", error.item + where, error.detail, _REMEDY)
        return empty, False
    if all(id(row) not in unsound for row in rows if row.object_type == PUBLISH):
        _check_sequences(state, sound, where, collector)
    return state, not unsound


def _problem(
    empty: CatalogState,
    rows: list[ManifestRow],
    where: str,
    unsound: set[int],
    collector: Collector,
) -> bool:
    row = rows[-1]
    try:
        fold(empty, rows, empty.version)
    except CorruptRepository as error:
        collector.error("catalog-row", row.object_id + where, error.detail, _REMEDY)
        unsound.add(id(row))
        return True
    return False


def _check_repeated(
    rows: Sequence[ManifestRow], where: str, unsound: set[int], collector: Collector
) -> None:
    by_id: dict[str, list[ManifestRow]] = defaultdict(list)
    for row in rows:
        by_id[row.object_id].append(row)
    for object_id, same in by_id.items():
        if len(same) > 1:
            detail = f"{len(same)} rows bear this object_id, and one may"
            collector.error("catalog-row-repeated", object_id + where, detail, _REMEDY)
            unsound.update(map(id, same[1:]))


def _check_sequences(
    state: CatalogState, rows: Sequence[ManifestRow], where: str, collector: Collector
) -> None:
    sequences = [made.sequence for made in state.publishes]
    for before, after in pairwise(sequences):
        if after != before + 1:
            detail = f"after commit {before} comes {after}, and none in between"
            collector.error("commit-missing", f"the commits{where}", detail, _REMEDY)
    if not sequences:
        return
    for row in later_rows(rows, state.last_sequence, state.location):
        detail = f"it says that a commit after {state.last_sequence} made it, which is the last one"
        collector.error("row-without-commit", row.object_id + where, detail, _REMEDY)
