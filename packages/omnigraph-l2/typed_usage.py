"""How omnigraph-l2 is used, for the type checker."""

from __future__ import annotations

from omnigraph_l2 import OmniGraphError


def kind_of(error: OmniGraphError) -> str:
    """Tell errors apart without reading messages."""
    return error.kind
