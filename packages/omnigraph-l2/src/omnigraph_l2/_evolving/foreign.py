"""Where the original program keeps the schema, nobody else changes it."""

from __future__ import annotations

from omnigraph_l1 import read_object
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import ORIGINAL_SCHEMA_FILES
from omnigraph_l2.errors import InvalidRequest

__all__ = ["refuse_foreign"]


def refuse_foreign(root: Root, what: str) -> None:
    """Refuse to change types that the original program keeps in files of its own."""
    found = [name for name in ORIGINAL_SCHEMA_FILES if read_object(root.storage, name) is not None]
    if found:
        reason = (
            f"the original program keeps its schema here ({', '.join(found)}), and would not "
            "know of the change; change the schema with that program"
        )
        raise InvalidRequest(what=what, reason=reason)
