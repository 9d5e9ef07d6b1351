"""The layers of this package, checked by ``checks/test_layers.py``."""

from __future__ import annotations

from typing import Final

__all__ = ["LAYERS"]

LAYERS: Final = (
    ("_profiles", "_test_modules", "_threads", "errors"),
    ("_extras", "_faults", "_servers", "histories"),
    ("_crash", "_gateway", "_sample_graph", "_wrappers", "strategies"),
    ("contracts",),
    ("plugin",),
)
"""Tiers of folders and modules directly below the package, lowest first.

A folder imports from lower tiers only; those of one tier do not import each other.
"""
