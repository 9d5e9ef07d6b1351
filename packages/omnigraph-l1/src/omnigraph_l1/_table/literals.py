"""Values as text in Lance's filter language. Pure; nothing a value holds can end its literal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["all_are_literals", "column_name", "in_list", "literal"]


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


def all_are_literals(values: Iterable[Any]) -> bool:
    """Tell whether each value has a literal that means it: text, and whole numbers from 0."""
    return all(isinstance(value, str) or (type(value) is int and value >= 0) for value in values)


def in_list(column: str, values: Iterable[Any]) -> str:
    """Write the predicate that a column has one of these values."""
    return f"{column_name(column)} IN ({', '.join(literal(value) for value in values)})"
