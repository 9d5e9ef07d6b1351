"""Values as text in Lance's filter language. Pure; nothing a value holds can end its literal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["column_name", "in_list", "literal"]


def column_name(name: str) -> str:
    """Quote a column, so that capitals, spaces and keywords mean nothing."""
    return f"`{name}`"


def literal(value: Any) -> str:
    """Write text, a whole number or a truth value as a literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def in_list(column: str, values: Iterable[Any]) -> str:
    """Write the predicate that a column has one of these values."""
    return f"{column_name(column)} IN ({', '.join(literal(value) for value in values)})"
