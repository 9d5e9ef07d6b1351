"""What two versions of one dataset have in common, told from their metadata alone.

Always: it costs no request. Version numbers go on counting on a branch, so that up to its start a
number means one version for the branch and for the lineage that it started from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import takewhile

from omnigraph_l1._lance.failures import lance_border
from omnigraph_l1._lance.schemas import column_identities
from omnigraph_l1._table.pinned import Pinned

__all__ = ["columns", "common_version", "has_row_ids"]


def columns(pinned: Pinned) -> Mapping[str, str]:
    """Give what tells each column from another that bore its name, by name."""
    with lance_border(pinned.place):
        return column_identities(pinned.dataset.lance_schema)


def has_row_ids(pinned: Pinned) -> bool:
    """Tell whether rows keep their ids when they are moved, and know when they changed."""
    with lance_border(pinned.place):
        return pinned.dataset.has_stable_row_ids and all(
            each.metadata.last_updated_at_version_meta is not None
            for each in pinned.dataset.get_fragments()
        )


def common_version(one: Pinned, other: Pinned) -> int | None:
    """Give the last version that two lineages share: None where all, 0 where none."""
    if one.place != other.place:
        return 0
    starts, others = _starts(one), _starts(other)
    if starts == others:
        return None
    shared = len(
        list(takewhile(lambda pair: pair[0] == pair[1], zip(starts, others, strict=False)))
    )
    return min(lineage[shared][0] for lineage in (starts, others) if len(lineage) > shared)


def _starts(pinned: Pinned) -> list[tuple[int, str]]:
    """Give the versions at which a branch and those above it started, the first one first."""
    if pinned.branch_identity is None:
        return []
    return [(version, mark) for version, mark in json.loads(pinned.branch_identity)]
