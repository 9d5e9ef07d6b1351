"""Giving one request to the real server, and taking its reply."""

from __future__ import annotations

import asyncio
import contextlib

from omnigraph_testing._gateway.http_bodies import PIECE_BYTES, Body
from omnigraph_testing._gateway.http_heads import UNTIL_CLOSE, RequestHead, ResponseHead
from omnigraph_testing._gateway.upstream_pool import Stream, Upstream

__all__ = ["Reply", "StoreGone", "ask", "ask_partly"]

LAST_WORDS_SECONDS = 5.0


class StoreGone(Exception):
    """The server behind the gateway cannot be reached, or hung up. Stays within the gateway."""


class Reply:
    """The server's reply: its head, and its body, which can be read once."""

    def __init__(self, head: ResponseHead, method: str, stream: Stream, upstream: Upstream) -> None:
        self.head = head
        self.body = Body(stream[0], head.length_for(method))
        self._is_done = False
        self._stream = stream
        self._upstream = upstream

    @property
    def ends_connection(self) -> bool:
        """Whether nothing can follow it on its connection."""
        return self.head.closes or self.body.length == UNTIL_CLOSE

    async def read(self) -> tuple[bytes, bytes]:
        """Read the body to its end and give the connection back: wire bytes, payload."""
        try:
            return await self.body.read()
        finally:
            self.finish()

    def finish(self) -> None:
        """Return the connection to the pool if the body was read to its end, else close it."""
        if self._is_done:
            return
        self._is_done = True
        if self.body.is_read and not self.ends_connection:
            self._upstream.give_back(self._stream)
        else:
            self._stream[1].transport.abort()


async def ask(upstream: Upstream, head: RequestHead, body: bytes | Body) -> Reply:
    """Send a request with this body, or with the client's body as it comes in.

    Raises ``StoreGone`` if the server fails, and what reading the client's body raises if that
    does.
    """
    try:
        stream = await upstream.take()
    except OSError as exc:
        raise StoreGone(str(exc)) from exc
    try:
        if isinstance(body, bytes):
            response = await _send_whole(stream, head.raw + body)
        elif 0 <= body.length <= PIECE_BYTES:
            wire, _ = await body.read()
            response = await _send_whole(stream, head.raw + wire)
        else:
            response = await _send_as_it_comes(stream, head, body)
        return Reply(response, head.method, stream, upstream)
    except BaseException:
        stream[1].transport.abort()
        raise


async def ask_partly(upstream: Upstream, sent: bytes) -> None:
    """Send an incomplete request, hang up, and wait until the server has done so too."""
    try:
        reader, writer = await upstream.take()
    except OSError as exc:
        raise StoreGone(str(exc)) from exc
    with contextlib.suppress(OSError, asyncio.TimeoutError):
        writer.write(sent)
        writer.write_eof()
        await asyncio.wait_for(reader.read(-1), LAST_WORDS_SECONDS)
    writer.transport.abort()


async def _send_whole(stream: Stream, message: bytes) -> ResponseHead:
    reader, writer = stream
    with contextlib.suppress(ConnectionError):  # the server may have answered before it hung up
        writer.write(message)
        await writer.drain()
    return await _response_head(reader)


async def _send_as_it_comes(stream: Stream, head: RequestHead, body: Body) -> ResponseHead:
    reader, writer = stream
    writer.write(head.raw)
    answer = asyncio.ensure_future(_response_head(reader))
    try:
        async for piece in body.pieces():
            # A server may answer before it has the whole body. The rest is then read and dropped,
            # because a client that is still sending would not see the answer.
            if not answer.done():
                with contextlib.suppress(ConnectionError):
                    writer.write(piece.wire)
                    await writer.drain()
        return await answer
    finally:
        if not answer.done():
            answer.cancel()
        elif not answer.cancelled():
            answer.exception()


async def _response_head(reader: asyncio.StreamReader) -> ResponseHead:
    try:
        while True:
            head = ResponseHead(await reader.readuntil(b"\r\n\r\n"))
            if head.is_final:
                return head
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as exc:
        raise StoreGone(str(exc)) from exc
