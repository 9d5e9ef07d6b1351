"""What a catalog row says of a version beside its number: for the original program, not for us."""

from __future__ import annotations

from typing import Any

import attrs

from omnigraph_l1 import Table, table_path
from omnigraph_l2._catalog.changes import Change, TableUpdate
from omnigraph_l2._storage import Root

__all__ = ["completed", "version_metadata"]


_LAST = 2**64 - 1


def completed(change: Change, root: Root) -> Change:
    """Add to an update of a table what is not said and follows from the rest."""
    if not isinstance(change, TableUpdate) or "manifest_path" in change.metadata:
        return change
    place = root.child(table_path(change.table_key)).place
    lineage = "" if change.table_branch is None else f"tree/{change.table_branch}/"
    name = f"{_LAST - change.table_version:020d}.manifest"
    facts = _facts(f"{place.key}/{lineage}_versions/{name}")
    return attrs.evolve(change, metadata={**facts, **change.metadata})


def version_metadata(table: Table) -> dict[str, Any]:
    """Say of a version what the original program says of its own."""
    return _facts(table.manifest_path)


def _facts(manifest_path: str) -> dict[str, Any]:
    return {
        "manifest_path": manifest_path,
        "manifest_size": None,
        "e_tag": None,
        "naming_scheme": "V2",
    }
