"""The parameters of a request, checked. No I/O.

Invariant: an invalid or unknown parameter raises ``InvalidRequest`` and is named; none is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from omnigraph_l2.errors import InvalidRequest

__all__ = ["QueryParams"]

_LONGEST: Final = 4_000
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


class QueryParams:
    """The parameters of a request. Each is taken once; ``check_complete`` rejects the others."""

    def __init__(self, request: str, query: Mapping[str, str]) -> None:
        self._what = f"request {request!r}"
        self._left = dict(query)

    def text(self, name: str) -> str:
        """Take a required text."""
        found = self.text_or_none(name)
        if found is None:
            reason = f"parameter {name!r} is missing"
            raise InvalidRequest(what=self._what, reason=reason)
        return found

    def text_or_none(self, name: str) -> str | None:
        """Take a text; None if it is missing or empty."""
        found = self._left.pop(name, "")
        if len(found) > _LONGEST:
            reason = f"parameter {name!r} is longer than {_LONGEST:,} characters"
            raise InvalidRequest(what=self._what, reason=reason)
        return found or None

    def number(self, name: str, *, default: int, most: int) -> int:
        """Take an integer from 0 to ``most``."""
        found = self._left.pop(name, "")
        if not found:
            return default
        number = int(found) if _NUMBER.fullmatch(found) else -1
        if not 0 <= number <= most:
            reason = f"{name!r} must be an integer from 0 to {most:,}, found {found[:80]!r}"
            raise InvalidRequest(what=self._what, reason=reason)
        return number

    def flag(self, name: str) -> bool:
        """Take a flag: 1 or 0."""
        return self.number(name, default=0, most=1) == 1

    def check_complete(self) -> None:
        """Raise ``InvalidRequest`` if parameters are left."""
        if self._left:
            reason = f"unknown parameter {min(self._left)[:80]!r}"
            raise InvalidRequest(what=self._what, reason=reason)
