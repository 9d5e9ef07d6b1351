"""The schema of a moment as plain data: what the picture is drawn from.

Always: bounded; a schema of thousands of types is cut, and says so.
"""

from __future__ import annotations

from typing import Any, Final

from omnigraph_l2 import EdgeType, NodeType, Snapshot

__all__ = ["schema_told"]

Plain = dict[str, Any]

_TYPES: Final = 400
_PROPERTIES: Final = 60
_TYPE: Final = 160


def schema_told(snapshot: Snapshot) -> Plain:
    """Tell the types, nodes first."""
    types = snapshot.schema.types
    return {
        "types": [_type(each, snapshot) for each in types[:_TYPES]],
        "left_out": max(len(types) - _TYPES, 0),
    }


def _type(declared: NodeType | EdgeType, snapshot: Snapshot) -> Plain:
    properties = list(declared.properties.items())
    edge = isinstance(declared, EdgeType)
    return {
        "key": declared.table_key,
        "kind": "edge" if edge else "node",
        "name": declared.name,
        "source": declared.source if isinstance(declared, EdgeType) else None,
        "target": declared.target if isinstance(declared, EdgeType) else None,
        "rows": snapshot.tables[declared.table_key].row_count,
        "properties": [
            {
                "name": name,
                "type": str(type_)[:_TYPE],
                "required": name in declared.required,
                "unique": name in declared.unique,
                "index": declared.indexes.get(name),
            }
            for name, type_ in properties[:_PROPERTIES]
        ],
        "left_out": max(len(properties) - _PROPERTIES, 0),
    }
