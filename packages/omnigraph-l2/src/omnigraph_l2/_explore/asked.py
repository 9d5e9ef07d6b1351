"""Questions as they come in: named texts, checked. Pure.

Always: what is not understood is ``InvalidRequest`` and names the parameter; nothing is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from omnigraph_l2.errors import InvalidRequest

__all__ = ["Asked"]

_LONGEST: Final = 4_000
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


class Asked:
    """The parameters of a question. Each is taken once; ``check_done`` refuses what is left."""

    def __init__(self, what: str, given: Mapping[str, str]) -> None:
        self._what = f"The question {what!r}"
        self._left = dict(given)

    def text(self, name: str) -> str:
        """Take a text that has to be there."""
        found = self.text_or_none(name)
        if found is None:
            reason = f"parameter {name!r} is missing"
            raise InvalidRequest(what=self._what, reason=reason)
        return found

    def text_or_none(self, name: str) -> str | None:
        """Take a text; None where it is missing or empty."""
        found = self._left.pop(name, "")
        if len(found) > _LONGEST:
            reason = f"parameter {name!r} is longer than {_LONGEST:,} characters"
            raise InvalidRequest(what=self._what, reason=reason)
        return found or None

    def number(self, name: str, *, default: int, most: int) -> int:
        """Take a whole number from 0 on."""
        found = self._left.pop(name, "")
        if not found:
            return default
        number = int(found) if _NUMBER.fullmatch(found) else -1
        if not 0 <= number <= most:
            reason = (
                f"parameter {name!r} is a whole number from 0 to {most:,}, found {found[:80]!r}"
            )
            raise InvalidRequest(what=self._what, reason=reason)
        return number

    def yes(self, name: str) -> bool:
        """Take a yes or no: 1 or 0."""
        return self.number(name, default=0, most=1) == 1

    def check_done(self) -> None:
        """Refuse parameters that nobody took."""
        if self._left:
            reason = f"there is no parameter {min(self._left)[:80]!r}"
            raise InvalidRequest(what=self._what, reason=reason)
