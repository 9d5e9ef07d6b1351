"""What a catalog row says of a version beside its number: for the original program, not for us."""

from __future__ import annotations

from typing import Any

from omnigraph_l1 import Table

__all__ = ["version_metadata"]


def version_metadata(table: Table) -> dict[str, Any]:
    """Say of a version what the original program says of its own."""
    return {
        "manifest_path": table.manifest_path,
        "manifest_size": None,
        "e_tag": None,
        "naming_scheme": "V2",
    }
