"""One thing that a client asks of a store, as far as rules look at it."""

from __future__ import annotations

import attrs

__all__ = ["Operation"]


@attrs.frozen
class Operation:
    """A request: what is done to which key.

    ``method`` is what the request means to the store: ``GET``, ``HEAD``, ``PUT``, ``DELETE``,
    ``LIST``, ``COPY``, ``DELETE_MANY``; the steps of an upload in parts are ``CREATE_MULTIPART``,
    ``PUT_PART``, ``COMPLETE_MULTIPART`` and ``ABORT_MULTIPART``; what is about the bucket itself is
    ``BUCKET``. ``verb`` is the one on the wire: a ``LIST`` is a GET there. ``key`` counts from the
    prefix of the store; one outside of it begins with a slash. That of a listing is its prefix.
    Without HTTP there are ``RENAME`` of a local store, and ``CREATE`` and ``REPLACE`` of refs, too.
    """

    method: str
    key: str
    verb: str = attrs.field(kw_only=True)
    size: int | None = attrs.field(kw_only=True, default=None)
    condition: str | None = attrs.field(kw_only=True, default=None)

    @verb.default
    def _verb_is_method(self) -> str:
        return self.method

    def __str__(self) -> str:
        return f"{self.method} {self.key or '(the bucket)'}"
