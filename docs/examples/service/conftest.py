"""Real servers for the tests of the service: uvicorn, in as many processes as a test wants."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import httpx
import pytest

_HERE = Path(__file__).parent
_DEADLINE = 240


class Server:
    """A service that runs, and a client of it."""

    def __init__(self, uri: str, options: Mapping[str, str] | None, workers: int) -> None:
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {**os.environ, "OMNIGRAPH_URI": uri}
        if options is not None:
            environment["OMNIGRAPH_STORAGE_OPTIONS"] = json.dumps(dict(options))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port),
             "--workers", str(workers), "--timeout-graceful-shutdown", "60",
             "--timeout-worker-healthcheck", "240"],
            cwd=_HERE, env=environment,
        )  # fmt: skip
        limits = httpx.Limits(max_keepalive_connections=0)  # each request may meet any process
        base = f"http://127.0.0.1:{port}"
        self.http = httpx.Client(base_url=base, limits=limits, timeout=_DEADLINE)

    def wait(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + _DEADLINE
        while True:
            try:
                self.http.get("/health")
            except httpx.TransportError:
                assert self.process.poll() is None, "the server ended"
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """Ask it to end; when it is done it does, by itself or by that signal."""
        self.http.close()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(_DEADLINE) in (0, -signal.SIGTERM)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers; those that a test leaves running are ended after it."""
    servers: list[Server] = []

    def start(uri: str, options: Mapping[str, str] | None = None, workers: int = 1) -> Server:
        servers.append(Server(uri, options, workers))
        servers[-1].wait()
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.stop()
