"""Heads of HTTP/1.1 messages, kept as the bytes that came, and how long the bodies behind them are.

Reads as little as a gateway needs. Bodies are not its business: see ``http_bodies.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import attrs

__all__ = ["CHUNKED", "UNTIL_CLOSE", "BadMessage", "RequestHead", "ResponseHead"]

# What stands in the place of a body's length where there is none.
CHUNKED = -1
UNTIL_CLOSE = -2

HTTP_NO_CONTENT = 204
HTTP_NOT_MODIFIED = 304
FIRST_FINAL_STATUS = 200


class BadMessage(Exception):
    """The peer does not speak HTTP/1.1. Stays within the gateway."""


@attrs.frozen(slots=False)
class Head:
    """A start line and header lines; ``raw`` ends with the empty line."""

    raw: bytes

    @cached_property
    def start(self) -> list[str]:
        """The three parts of the start line."""
        line = self.raw.partition(b"\r\n")[0].decode("latin-1")
        parts = line.split(" ", 2)
        if len(parts) < 2:  # noqa: PLR2004
            raise BadMessage(line)
        return [*parts, ""][:3]

    @cached_property
    def headers(self) -> dict[str, str]:
        """The header lines; names in lower case, repeated ones joined by commas."""
        found: dict[str, str] = {}
        for line in self.raw.split(b"\r\n")[1:-2]:
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon:
                raise BadMessage(line)
            name, value = name.lower(), value.strip()
            found[name] = f"{found[name]},{value}" if name in found else value
        return found

    def with_headers(self, changes: dict[str, str | None]) -> bytes:
        """Return the bytes of the head with these headers (lower case) set, or, for None, gone."""
        lines = self.raw.split(b"\r\n")[:-2]
        kept: list[bytes] = lines[:1]
        for line in lines[1:]:
            name = line.partition(b":")[0].decode("latin-1").lower()
            if name not in changes:
                kept.append(line)
        for name, value in changes.items():
            if value is not None:
                kept.append(f"{name}: {value}".encode("latin-1"))
        return b"\r\n".join([*kept, b"", b""])

    def _length(self) -> int | None:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            return CHUNKED
        text = self.headers.get("content-length")
        if text is None:
            return None
        if not text.isdigit():
            raise BadMessage(text)
        return int(text)

    def _closes(self, version: str) -> bool:
        said = self.headers.get("connection", "").lower()
        return "close" in said or (version == "HTTP/1.0" and "keep-alive" not in said)


class RequestHead(Head):
    """The head of a request."""

    @property
    def method(self) -> str:
        """The verb."""
        return self.start[0]

    @property
    def target(self) -> str:
        """Path and query, as sent."""
        return self.start[1]

    @property
    def length(self) -> int:
        """How many bytes of body follow, or ``CHUNKED``."""
        return self._length() or 0

    @property
    def wants_continue(self) -> bool:
        """Whether the client waits for "100 Continue" before it sends the body."""
        return self.headers.get("expect", "").lower() == "100-continue"

    @property
    def closes(self) -> bool:
        """Whether the client wants the connection closed afterwards."""
        return self._closes(self.start[2])


class ResponseHead(Head):
    """The head of a response."""

    @cached_property
    def status(self) -> int:
        """The status code."""
        code = self.start[1]
        if not code.isdigit():
            raise BadMessage(code)
        return int(code)

    @property
    def is_final(self) -> bool:
        """Whether it is not one of the 1xx that only announce."""
        return self.status >= FIRST_FINAL_STATUS

    @property
    def closes(self) -> bool:
        """Whether the connection ends with this response."""
        return self._closes(self.start[0])

    def length_for(self, method: str) -> int:
        """Return how many bytes of body follow, or ``CHUNKED`` or ``UNTIL_CLOSE``."""
        if method == "HEAD" or self.status in (HTTP_NO_CONTENT, HTTP_NOT_MODIFIED):
            return 0
        length = self._length()
        return UNTIL_CLOSE if length is None else length

    @staticmethod
    def make(status: int, reason: str, headers: Iterable[tuple[str, str]]) -> ResponseHead:
        """Return a head of our own."""
        lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
        return ResponseHead("\r\n".join([*lines, "", ""]).encode("latin-1"))
