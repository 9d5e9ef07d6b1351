"""What a catalog row says of a version beside its number: for the original program, not for us.

And whether such a version is there at all, where somebody else says that it wrote it.
"""

from __future__ import annotations

from typing import Any

import attrs

from omnigraph_l1 import Table, table_path
from omnigraph_l1.errors import BadInput, CorruptDataset, NotFound
from omnigraph_l2._catalog.changes import Change, TableUpdate
from omnigraph_l2._storage import Root
from omnigraph_l2.errors import InvalidChange

__all__ = ["check_there", "completed", "version_metadata"]


_LAST = 2**64 - 1


def check_there(change: Change, root: Root) -> None:
    """Refuse a version that cannot be opened: nobody could read the table again."""
    if not isinstance(change, TableUpdate):
        return
    path = table_path(change.table_key)
    try:
        root.open(path, branch=change.table_branch, version=change.table_version)
    except (NotFound, BadInput, CorruptDataset) as error:
        reason = f"its version {change.table_version} cannot be opened. {error}"
        raise InvalidChange(table_key=change.table_key, reason=reason) from error


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
