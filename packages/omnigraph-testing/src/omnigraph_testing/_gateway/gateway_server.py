"""The gateway's listening end: accepts connections, and serves requests on each, one by one."""

from __future__ import annotations

import asyncio
import itertools

from omnigraph_testing._gateway.client_connection import Client
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
        self._tasks: dict[asyncio.Task[None], Client] = {}
        self._listener: asyncio.Server | None = None
        self.port = 0

    async def come_up(self) -> None:
        """Listen, on the same port as before if it was up before."""
        if self._listener is None:
            self._listener = await asyncio.start_server(
                self._serve, "127.0.0.1", self.port, limit=READ_LIMIT
            )
            self.port = self._listener.sockets[0].getsockname()[1]

    async def go_down(self) -> None:
        """Refuse connections, and cut those that are open, with what is under way on them."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for client in self._tasks.values():
            client.reset()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Go down for good."""
        await self.go_down()
        self._context.upstream.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Client(next(self._numbers), reader, writer)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        self._tasks[task] = client
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
            del self._tasks[task]
