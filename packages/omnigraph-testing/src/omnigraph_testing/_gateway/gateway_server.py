"""The gateway's listening end: accepts connections, and serves requests on each, one by one.

Connections are accepted here and not by ``asyncio.start_server``, which forgets those that it has
accepted when it is closed before they are set up: they would stay open.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from contextlib import suppress

from omnigraph_testing._gateway.client_connection import LINGER_ZERO, Client
from omnigraph_testing._gateway.gateway_context import Context
from omnigraph_testing._gateway.http_heads import BadMessage
from omnigraph_testing._gateway.request_exchange import Exchange
from omnigraph_testing._gateway.upstream_pool import READ_LIMIT

__all__ = ["Server"]


class Server:
    """Serves as long as it is up. All methods belong to one event loop."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._numbers = itertools.count(1)
        self._connections: dict[asyncio.Task[None], socket.socket] = {}
        self._clients: dict[asyncio.Task[None], Client] = {}
        self._listener: socket.socket | None = None
        self.port = 0

    async def come_up(self) -> None:
        """Listen, on the same port as before if it was up before."""
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
            self._listener.setblocking(False)
            self.port = self._listener.getsockname()[1]
            asyncio.get_running_loop().add_reader(self._listener, self._accept, self._listener)

    async def go_down(self) -> None:
        """Refuse connections, and cut those that are open, with what is under way on them."""
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        for client in self._clients.values():
            client.reset()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Go down for good."""
        await self.go_down()
        self._context.upstream.close()

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # the client has gone again
        connection.setblocking(False)
        task = asyncio.get_running_loop().create_task(self._serve(connection))
        self._connections[task] = connection
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        connection = self._connections.pop(task)
        if task.cancelled():  # before it has begun
            with suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
        connection.close()

    async def _serve(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=READ_LIMIT)
        client = Client(next(self._numbers), reader, writer)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        self._clients[task] = client
        try:
            while (head := await client.next_request()) is not None:
                if not await Exchange(self._context, client, head).carry_out():
                    break
            await client.close()
        except (asyncio.CancelledError, BadMessage):
            client.reset()
        except Exception as exc:  # noqa: BLE001 - a predicate of the test's, or a fault of ours
            self._context.failures.append(exc)
            client.reset()
        finally:
            del self._clients[task]
