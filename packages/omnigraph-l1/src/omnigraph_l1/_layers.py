"""The layers of this package, which a check of the whole repository walks."""

from typing import Final

__all__ = ["LAYERS"]

LAYERS: Final = (
    (
        "_events",
        "_text_encoding",
        "_transaction_kinds",
        "batch_groups",
        "deadlines",
        "row_addresses",
    ),
    ("_errors",),
    ("errors",),
    ("_conflict_matrix", "_table_paths", "abandonable_calls", "failpoints"),
    ("_storage",),
    ("_lance", "_refs"),
    ("_dataset",),
    ("_read",),
    ("_write",),
    ("_table",),
    ("_public_names",),
)
"""Tiers of what lies directly below the package, lowest first.

A folder or module imports from lower tiers only; those of one tier do not import each other.
"""
