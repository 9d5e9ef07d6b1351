"""What came of one request: a value or an error, and the status that goes with it."""

from __future__ import annotations

from typing import Generic, TypeVar

import attrs

__all__ = ["Outcome"]

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Outcome(Generic[T]):
    """A reply: ``status`` is None where none came. Where there is no error, there is a value."""

    value: T | None = None
    error: Exception | None = None
    status: int | None = None

    def give(self) -> T:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # None is a value of some requests
