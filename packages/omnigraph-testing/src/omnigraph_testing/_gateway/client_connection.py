"""The client's end of one connection: what it sends, what it is sent, and how it is cut off."""

from __future__ import annotations

import asyncio
import socket
import struct

from omnigraph_testing._gateway.http_bodies import Body
from omnigraph_testing._gateway.http_heads import RequestHead

__all__ = ["Client"]

LINGER_ZERO = struct.pack("ii", 1, 0)


class Client:
    """A connection that a client opened."""

    def __init__(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.number = number
        self._reader = reader
        self._writer = writer

    @property
    def is_open(self) -> bool:
        """Whether it was not closed at our end."""
        return not self._writer.transport.is_closing()

    async def next_request(self) -> RequestHead | None:
        """Return the next head, or None when the client has hung up."""
        try:
            return RequestHead(await self._reader.readuntil(b"\r\n\r\n"))
        except (asyncio.IncompleteReadError, OSError):
            return None

    def body(self, head: RequestHead) -> Body:
        """Return the body behind the head."""
        return Body(self._reader, head.length)

    async def send(self, data: bytes) -> None:
        """Send bytes; nothing happens if the connection was cut."""
        if self.is_open:
            self._writer.write(data)
            await self._writer.drain()

    async def close(self) -> None:
        """Hang up after what was sent has gone out."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            self.reset()

    def hang_up(self) -> None:
        """End the connection in order, without waiting: the client sees an end, not a reset."""
        self._writer.close()

    def reset(self) -> None:
        """Cut the connection at once: the client sees a reset, not an end."""
        if self.is_open:
            sock: socket.socket = self._writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
        self._writer.transport.abort()
