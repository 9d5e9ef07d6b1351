"""A process that runs one server for as long as a process holds a lease on it.

Started as a script by ``server_lease``, with the standard library alone. It detaches itself:
neither Ctrl-C nor the end of the process that started it stops the server while others use it.

Invariant: a lease is a connection that sent the token. When the last one is closed, by
its holder or, after a SIGKILL, by the kernel, the server is killed, and its directory and sockets
are removed. If the supervisor itself dies, the kernel kills the server (on Linux). A server of a
test holds nothing worth an orderly end: SeaweedFS would take 15 seconds for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any

FIRST_LEASE_SECONDS = 10.0
LOOK_AT_SERVER_SECONDS = 0.5
PR_SET_PDEATHSIG = 1


class Supervisor:
    """The server process, and the connections of those who need it."""

    def __init__(self, order: dict[str, Any], listener: socket.socket) -> None:
        self.order = order
        self.listener = listener
        self.token: bytes = order["token"].encode()
        self.waiting: dict[socket.socket, bytes] = {}
        self.leases: set[socket.socket] = set()
        self.leased_once = False
        self.told_to_stop = False
        self.last: socket.socket | None = None

    def start_server(self) -> subprocess.Popen[bytes]:
        """Start the server in a session of its own; only its own death or ours ends it."""
        parent = os.getpid()

        def die_with_supervisor() -> None:
            if sys.platform == "linux":
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != parent:
                    os._exit(1)

        with open(self.order["log"], "ab") as log:  # noqa: PTH123 - pathlib is slow to import
            return subprocess.Popen(  # noqa: S603
                self.order["argv"],
                cwd=self.order["directory"],
                env={**os.environ, **self.order["env"]},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_supervisor,  # noqa: PLW1509 - there is one thread here
            )

    def serve(self, server: subprocess.Popen[bytes]) -> None:
        """Return when no lease is left, or when it is gone."""
        deadline = time.monotonic() + FIRST_LEASE_SECONDS
        while not self.told_to_stop and server.poll() is None:
            if not self.leases and (self.leased_once or time.monotonic() > deadline):
                break
            ready, _, _ = select.select(
                [self.listener, *self.waiting, *self.leases], [], [], LOOK_AT_SERVER_SECONDS
            )
            for connection in ready:
                if connection is self.listener:
                    self.waiting[self.listener.accept()[0]] = b""
                else:
                    self.hear(connection)

    def hear(self, connection: socket.socket) -> None:
        """Take what came in on a connection: a token, or its end."""
        try:
            data = connection.recv(1024)
        except OSError:
            data = b""
        if connection in self.leases:
            if not data:
                self.leases.remove(connection)
                if self.leases:
                    connection.close()
                else:
                    self.last = connection  # closed after the clean-up: its holder waits for that
            return
        said = self.waiting.pop(connection) + data
        if said == self.token:
            self.leased_once = True
            self.leases.add(connection)
            with contextlib.suppress(OSError):
                connection.sendall(b"leased")
        elif data and self.token.startswith(said):
            self.waiting[connection] = said
        else:
            connection.close()

    def stop(self, server: subprocess.Popen[bytes]) -> None:
        """Kill the server and remove what it leaves."""
        self.listener.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        for path in self.order["scrap"]:
            with contextlib.suppress(OSError):
                os.unlink(path)  # noqa: PTH108
        shutil.rmtree(self.order["directory"], ignore_errors=True)


def detach() -> bool:
    """Return true in the process that goes on, which has a session of its own."""
    if os.fork():
        return False
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return True


def main() -> None:
    """Read the order from stdin, answer with one line on stdout, and stay."""
    order = json.load(sys.stdin)
    listener = socket.create_server(("127.0.0.1", 0))
    if not detach():
        os._exit(0)
    supervisor = Supervisor(order, listener)

    def on_term(_signal: int, _frame: object) -> None:
        supervisor.told_to_stop = True

    signal.signal(signal.SIGTERM, on_term)
    try:
        server = supervisor.start_server()
    except OSError as exc:
        answer: dict[str, Any] = {"error": str(exc)}
    else:
        answer = {
            "port": listener.getsockname()[1],
            "supervisor_pid": os.getpid(),
            "server_pid": server.pid,
        }
    os.write(1, json.dumps(answer).encode() + b"\n")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    if "error" in answer:
        shutil.rmtree(order["directory"], ignore_errors=True)
        return
    try:
        supervisor.serve(server)
    finally:
        supervisor.stop(server)


if __name__ == "__main__":
    main()
