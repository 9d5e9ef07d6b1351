"""A lease on a running server: take part in one that runs, or start it.

Invariant: between processes that name one ``directory``, a file lock lets one of them
start the server, and the others find it through a state file. The lock is the kernel's: who dies
releases it. Stopping is the supervisor's business.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from omnigraph_testing._servers import server_supervisor as _supervisor
from omnigraph_testing._servers.s3_store import S3Store
from omnigraph_testing._servers.server_kinds import Launch, ServerKind, plan_launch
from omnigraph_testing._servers.sigv4 import signed_request
from omnigraph_testing.errors import ServerUnavailable

__all__ = ["Lease", "acquire"]

BUCKET = "omnigraph-testing"
START_SECONDS = 60.0
STOP_SECONDS = 20.0
POLL_SECONDS = 0.05
# A port that was free when it was chosen can be taken when the server binds it.
START_ATTEMPTS = 3
LOG_TAIL = 600


@attrs.define(eq=False)
class Lease:
    """A server that runs at least until ``release``. ``pid`` is the server's process."""

    store: S3Store
    pid: int
    supervisor_pid: int
    _connection: socket.socket = attrs.field(repr=False, alias="connection")

    def release(self) -> None:
        """Release it. When this returns, the server is gone if this was the last lease."""
        if self._connection.fileno() < 0:
            return
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
            self._connection.settimeout(STOP_SECONDS)
            while self._connection.recv(64):
                pass
        self._connection.close()

    def is_alive(self) -> bool:
        """Return whether the server still runs; its supervisor hangs up when it does not."""
        try:
            return self._connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


def acquire(kind: ServerKind, directory: Path) -> Lease:
    """Return a lease on the one server of that kind that is shared through ``directory``.

    Raises ``ServerUnavailable`` where it cannot run.
    """
    state = directory / f"s3-{kind.value}.json"
    with _hold_lock(directory / f"s3-{kind.value}.lock"):
        lease = _join(state)
        if lease is None:
            lease, known = _start(kind, directory)
            _write_private(state, json.dumps(known))
        return lease


@contextlib.contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    # Between threads of one process too: each opens the file anew.
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write_private(path: Path, text: str) -> None:
    beside = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    beside.touch(mode=0o600)
    beside.write_text(text)
    beside.replace(path)


def _join(state: Path) -> Lease | None:
    try:
        known = json.loads(state.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return _connect(known)


def _connect(known: dict[str, Any]) -> Lease | None:
    try:
        connection = socket.create_connection(("127.0.0.1", known["port"]), timeout=STOP_SECONDS)
    except OSError:
        return None
    try:
        connection.sendall(known["token"].encode())
        if connection.recv(64) == b"leased":
            connection.settimeout(None)
            store = S3Store(**known["store"])
            return Lease(store, known["server_pid"], known["supervisor_pid"], connection)
    except OSError:
        pass
    connection.close()
    return None


def _start(kind: ServerKind, parent: Path) -> tuple[Lease, dict[str, Any]]:
    said = ""
    for _attempt in range(START_ATTEMPTS):
        directory = Path(tempfile.mkdtemp(prefix=f"s3-{kind.value}-", dir=parent))
        log = directory.with_suffix(".log")  # outside: the supervisor removes the directory
        keys = S3Store("", BUCKET, access_key="omnigraph", secret_key=secrets.token_hex(16))
        launch = plan_launch(kind, directory, keys)
        store = attrs.evolve(keys, endpoint=f"http://127.0.0.1:{launch.port}")
        known = _supervise(kind, directory, log, launch)
        known["store"] = attrs.asdict(store)
        lease = _connect(known)
        if lease is not None:
            try:
                if _wait_until_ready(kind, lease):
                    return lease, known
            except BaseException:
                lease.release()
                raise
            lease.release()
        said = _tail(log)
    raise ServerUnavailable(
        server=kind.value,
        reason=f"it ended {START_ATTEMPTS} times while starting, the last time saying: {said}",
        remedy="Start it by hand to see what it lacks.",
    )


def _supervise(kind: ServerKind, directory: Path, log: Path, launch: Launch) -> dict[str, Any]:
    token = secrets.token_hex(16)
    order = {
        "argv": launch.argv,
        "env": launch.env,
        "directory": str(directory),
        "log": str(log),
        "scrap": launch.scrap,
        "token": token,
    }
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-S", _supervisor.__file__],
        input=json.dumps(order).encode(),
        capture_output=True,
        check=False,
    )
    answer: dict[str, Any] = json.loads(done.stdout or b"{}")
    if "port" not in answer:
        raise ServerUnavailable(
            server=kind.value,
            reason=str(answer.get("error") or done.stderr.decode(errors="replace")[-LOG_TAIL:]),
            remedy="Check that the program is whole and may be run.",
        )
    return {**answer, "token": token}


def _wait_until_ready(kind: ServerKind, lease: Lease) -> bool:
    """Return true once a PUT lands, false if the server ended before."""
    deadline = time.monotonic() + START_SECONDS
    answer = "nothing listens yet"
    while time.monotonic() < deadline:
        if not lease.is_alive():
            return False
        try:
            status, _ = signed_request(lease.store, "PUT", "")
            if status in (200, 409):
                status, _ = signed_request(lease.store, "PUT", "ready", body=b"yes")
                if status == 200:  # noqa: PLR2004
                    return True
            answer = f"it answered {status}"
        except (OSError, http.client.HTTPException) as exc:
            answer = str(exc)
        time.sleep(POLL_SECONDS)
    raise ServerUnavailable(
        server=kind.value,
        reason=f"no PUT landed within {START_SECONDS:.0f} seconds; at last {answer}",
        remedy="A machine under heavy load may need a second run.",
    )


def _tail(log: Path) -> str:
    try:
        return log.read_text(errors="replace")[-LOG_TAIL:].strip() or "nothing"
    except OSError:
        return "nothing"
