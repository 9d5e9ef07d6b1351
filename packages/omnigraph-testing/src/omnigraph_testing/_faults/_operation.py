"""One thing that a client asks of a store, as far as rules look at it."""

from __future__ import annotations

import attrs

__all__ = ["Operation"]


@attrs.frozen
class Operation:
    """A request: what is done (``GET``, ``PUT``, ``LIST`` …) and to which key.

    ``method`` is the verb on the wire, ``kind`` what it means: a GET of a bucket is a ``LIST``,
    a PUT can be a ``PUT_PART`` or a ``COPY``. Where they do not differ, ``kind`` is the method.
    ``key`` counts from the prefix of the store; one outside of it begins with a slash.
    """

    method: str
    key: str
    kind: str = attrs.field(kw_only=True)
    size: int | None = attrs.field(kw_only=True, default=None)
    condition: str | None = attrs.field(kw_only=True, default=None)

    @kind.default
    def _kind_is_method(self) -> str:
        return self.method

    def __str__(self) -> str:
        return f"{self.kind} {self.key or '(the bucket)'}"
