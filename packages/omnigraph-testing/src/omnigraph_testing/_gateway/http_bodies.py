"""Bodies on their way through: pieces as they came on the wire, chunk framing included.

Invariant: the joined pieces are the bytes that the sender sent, and the last piece is
marked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import attrs

from omnigraph_testing._gateway.http_heads import CHUNKED, UNTIL_CLOSE, BadMessage

__all__ = ["PIECE_BYTES", "Body", "Piece"]

PIECE_BYTES = 1 << 18


@attrs.frozen
class Piece:
    """Bytes of a body as on the wire, how many of them are payload, and whether more come."""

    wire: bytes
    payload: bytes
    is_last: bool


class Body:
    """A body that can be read once. A body of length 0 has one empty piece."""

    def __init__(self, reader: asyncio.StreamReader, length: int) -> None:
        self._reader = reader
        self.length = length
        self.is_read = False
        self.passed = 0

    async def pieces(self) -> AsyncIterator[Piece]:
        """Yield the pieces. Raises ``IncompleteReadError`` or ``OSError`` if the sender is gone."""
        if self.length == CHUNKED:
            source = self._chunks()
        elif self.length == UNTIL_CLOSE:
            source = self._until_close()
        else:
            source = self._read_counted(self.length)
        async for piece in source:
            self.passed += len(piece.wire)
            self.is_read = piece.is_last
            yield piece

    async def read(self) -> tuple[bytes, bytes]:
        """Return all of it, as on the wire and as payload."""
        wire, payload = [], []
        async for piece in self.pieces():
            wire.append(piece.wire)
            payload.append(piece.payload)
        return b"".join(wire), b"".join(payload)

    async def _read_counted(self, left: int) -> AsyncIterator[Piece]:
        while True:
            data = await self._some(min(left, PIECE_BYTES)) if left else b""
            left -= len(data)
            yield Piece(data, data, left == 0)
            if not left:
                return

    async def _until_close(self) -> AsyncIterator[Piece]:
        while data := await self._reader.read(PIECE_BYTES):
            yield Piece(data, data, is_last=False)
        yield Piece(b"", b"", is_last=True)

    async def _chunks(self) -> AsyncIterator[Piece]:
        while True:
            line = await self._reader.readuntil(b"\r\n")
            try:
                left = int(line.split(b";")[0], 16)
            except ValueError:
                raise BadMessage(line) from None
            if not left:
                break
            before = line
            while left:
                data = await self._some(min(left, PIECE_BYTES))
                left -= len(data)
                after = b"" if left else await self._reader.readexactly(2)
                yield Piece(before + data + after, data, is_last=False)
                before = b""
        trailer = line
        while (line := await self._reader.readuntil(b"\r\n")) != b"\r\n":
            trailer += line
        yield Piece(trailer + line, b"", is_last=True)

    async def _some(self, most: int) -> bytes:
        data = await self._reader.read(most)
        if not data:
            raise asyncio.IncompleteReadError(data, most)
        return data
