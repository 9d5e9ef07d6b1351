"""The layers of this package.

``LAYERS`` lists the folders and modules directly below the package in tiers, lowest first. A folder
imports from lower tiers only; those of one tier do not import each other. ``__init__`` and
``__main__`` are above all tiers.
"""

from __future__ import annotations

from typing import Final

__all__ = ["LAYERS"]

LAYERS: Final = (
    ("errors",),
    ("_convert", "_options", "_pyspark_check"),
    ("_read", "_write"),
    ("_graph", "_streaming"),
    ("_data_source",),
    ("_session",),
    ("_jobs",),
    ("jobs",),
    ("_public_names",),
    ("_program",),
)
