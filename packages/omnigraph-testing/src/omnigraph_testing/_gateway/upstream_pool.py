"""Connections to the real server, kept open and used again.

A request is never sent twice by itself: a connection that was idle for long is closed instead of
trusted, because a repeated request could take effect twice, which no rule asked for.
"""

from __future__ import annotations

import asyncio
import time
from typing import TypeAlias

__all__ = ["READ_LIMIT", "Stream", "Upstream"]

Stream: TypeAlias = "tuple[asyncio.StreamReader, asyncio.StreamWriter]"

READ_LIMIT = 1 << 20
IDLE_SECONDS = 3.0


class Upstream:
    """A pool of connections to one address."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._idle: list[tuple[float, Stream]] = []

    async def take(self) -> Stream:
        """Return an open connection. Raises ``OSError`` if the server cannot be reached."""
        while self._idle:
            since, (reader, writer) = self._idle.pop()
            usable = not (reader.at_eof() or writer.transport.is_closing())
            if usable and time.monotonic() - since < IDLE_SECONDS:
                return reader, writer
            writer.transport.abort()
        return await asyncio.open_connection(*self._address, limit=READ_LIMIT)

    def give_back(self, stream: Stream) -> None:
        """Keep a connection on which a reply was read to its end."""
        self._idle.append((time.monotonic(), stream))

    def close(self) -> None:
        """Close what is idle."""
        for _, (_, writer) in self._idle:
            writer.transport.abort()
        self._idle.clear()
