"""What the ``table`` row of a type says of it beside its columns. Pure.

Always: what is not there, or cannot be understood, is not known: the original program wrote none.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph_l1 import IndexKind
from omnigraph_l2._catalog.state import CatalogState
from omnigraph_l2._schema.indexes import INDEX_KINDS

__all__ = ["declared_indexes", "endpoints", "unique_properties", "wanted_indexes"]


def endpoints(state: CatalogState, edge_key: str) -> Mapping[str, str]:
    """Give the node types at the ends of an edge type, by column, as far as they are known."""
    found = _said(state, edge_key).get("endpoints")
    given = found.items() if isinstance(found, Mapping) else ()
    return {column: name for column, name in given if isinstance(name, str)}


def unique_properties(state: CatalogState, table_key: str) -> tuple[str, ...]:
    """Name the properties of which no two rows may have the same value."""
    found = _said(state, table_key).get("unique")
    return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()


def declared_indexes(state: CatalogState, table_key: str) -> Mapping[str, str]:
    """Name the properties that shall have an index, and the kind of each, as far as we know it."""
    found = _said(state, table_key).get("indexes")
    given = found.items() if isinstance(found, Mapping) else ()
    return {name: kind for name, kind in given if kind in INDEX_KINDS}


def wanted_indexes(state: CatalogState, table_key: str) -> Mapping[str, IndexKind]:
    """Tell which columns of a table shall have an index: keys, what is unique, what is declared."""
    keys = ("id", "src", "dst") if table_key.startswith("edge:") else ("id",)
    wanted = dict.fromkeys((*keys, *unique_properties(state, table_key)), IndexKind.BTREE)
    declared = declared_indexes(state, table_key)
    return {name: INDEX_KINDS[kind] for name, kind in declared.items()} | wanted


def _said(state: CatalogState, table_key: str) -> Mapping[str, object]:
    registration = state.registration(table_key)
    return {} if registration is None else registration.metadata
