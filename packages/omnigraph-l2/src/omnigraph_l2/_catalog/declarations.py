"""What the ``table`` row of a type says of it beside its columns. Pure.

Always: what is not there, or cannot be understood, is not known: the original program wrote none.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph_l2._catalog.state import CatalogState

__all__ = ["endpoints", "unique_properties"]


def endpoints(state: CatalogState, edge_key: str) -> Mapping[str, str]:
    """Give the node types at the ends of an edge type, by column, as far as they are known."""
    found = _said(state, edge_key).get("endpoints")
    given = found.items() if isinstance(found, Mapping) else ()
    return {column: name for column, name in given if isinstance(name, str)}


def unique_properties(state: CatalogState, table_key: str) -> tuple[str, ...]:
    """Name the properties of which no two rows may have the same value."""
    found = _said(state, table_key).get("unique")
    return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()


def _said(state: CatalogState, table_key: str) -> Mapping[str, object]:
    registration = state.registration(table_key)
    return {} if registration is None else registration.metadata
