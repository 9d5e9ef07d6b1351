"""Requests of a namespace client, in any form. Pure.

Python clients pass the models of the contract, Lance itself passes plain mappings. Both are read
the same way; anything else raises an error of the contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from lance_namespace import InvalidInputError

__all__ = ["as_model", "page"]

_M = TypeVar("_M")


def as_model(model: type[_M], request: Any) -> _M:
    """Read a request."""
    if isinstance(request, model):
        return request
    try:
        given = request if isinstance(request, Mapping) else request.model_dump()
        known = {name: value for name, value in dict(given).items() if value is not None}
        return model(**known)
    except (AttributeError, TypeError, ValueError) as error:
        msg = f"A {model.__name__} is expected, found {type(request).__name__} ({error})."
        raise InvalidInputError(msg) from error


def page(
    names: Iterable[str], after: str | None, limit: int | None
) -> tuple[list[str], str | None]:
    """Return the names of one page, and what the next one begins after; None where none is left."""
    if limit is not None and limit < 1:
        msg = f"The limit of a page is a whole number from 1, found {limit}."
        raise InvalidInputError(msg)
    rest = [name for name in sorted(names) if not after or name > after]
    if limit is None or len(rest) <= limit:
        return rest, None
    return rest[:limit], rest[limit - 1]
