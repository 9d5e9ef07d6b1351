"""Which servers there are, and the command line of each.

Every server listens on loopback only, sends nothing anywhere else, and writes into the directory
that it is given. Running the command is not its business.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import socket
import sys
import sysconfig
from enum import Enum
from pathlib import Path

import attrs

from omnigraph_testing._servers.s3_store import S3Store
from omnigraph_testing.errors import InvalidOption, ServerUnavailable

__all__ = ["Launch", "ServerKind", "plan_launch"]


class ServerKind(str, Enum):
    """The S3 servers that can be started."""

    SEAWEEDFS = "seaweedfs"
    MOTO = "moto"

    @classmethod
    def of(cls, name: str) -> ServerKind:
        """Return the kind of that name, or raise ``InvalidOption``."""
        try:
            return cls(name)
        except ValueError:
            raise InvalidOption(
                option="the S3 server",
                found=repr(name),
                expected="one of " + ", ".join(kind.value for kind in cls),
            ) from None


@attrs.frozen
class Launch:
    """What the supervisor must run, and what it must remove afterwards."""

    argv: tuple[str, ...]
    port: int
    env: dict[str, str] = attrs.field(kw_only=True, factory=dict)
    scrap: tuple[str, ...] = attrs.field(kw_only=True, default=())


def plan_launch(kind: ServerKind, directory: Path, store: S3Store) -> Launch:
    """Return how to start a server in ``directory`` that knows the keys of ``store``."""
    if kind is ServerKind.MOTO:
        return _moto()
    return _seaweedfs(directory, store)


def _moto() -> Launch:
    for module in ("moto", "flask"):
        if importlib.util.find_spec(module) is None:
            raise ServerUnavailable(
                server=ServerKind.MOTO.value,
                reason=f"the module {module!r} is not installed",
                remedy="Run: pip install 'omnigraph-testing[moto]'",
            )
    (port,) = _free_ports(1)
    program = "omnigraph_testing._servers.moto_server"
    argv = (sys.executable, "-m", program, "-H", "127.0.0.1", "-p", str(port))
    return Launch(argv, port, env={"PYTHONWARNINGS": "ignore"})


def _seaweedfs(directory: Path, store: S3Store) -> Launch:
    # The wheel puts the program beside the interpreter, which need not be on the PATH.
    weed = shutil.which("weed", path=sysconfig.get_path("scripts")) or shutil.which("weed")
    if weed is None:
        raise ServerUnavailable(
            server=ServerKind.SEAWEEDFS.value,
            reason="the program 'weed' was not found",
            remedy="Run: pip install 'omnigraph-testing[s3]'",
        )
    data = directory / "data"
    data.mkdir()
    config = directory / "s3.json"
    config.touch(mode=0o600)
    config.write_text(json.dumps(_seaweedfs_identities(store)))
    parts = ("master", "volume", "filer", "s3")
    free = _free_ports(2 * len(parts))
    ports = dict(zip(parts, free[::2], strict=True))
    grpc = dict(zip(parts, free[1::2], strict=True))
    argv = [
        weed,
        "server",
        f"-dir={data}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-filer",
        "-s3",
        f"-s3.config={config}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-volume.max=20",
        "-volume.minFreeSpace=100MiB",  # not 1 % of the disk, below which it lets every PUT hang
        "-volume.preStopSeconds=0",
        "-master.volumeSizeLimitMB=256",
        "-master.telemetry=false",
    ]
    for part in parts:
        argv += [f"-{part}.port={ports[part]}", f"-{part}.port.grpc={grpc[part]}"]
    # It puts these sockets into /tmp whatever TMPDIR says, and leaves them there.
    scrap = [f"/tmp/seaweedfs-{part}-grpc-{grpc[part]}.sock" for part in parts]  # noqa: S108
    scrap += [f"/tmp/seaweedfs-{part}-{ports[part]}.sock" for part in parts]  # noqa: S108
    # Its own log files would go to the system's temporary directory.
    env = {"TMPDIR": str(directory)}
    return Launch(tuple(argv), ports["s3"], env=env, scrap=tuple(scrap))


def _seaweedfs_identities(store: S3Store) -> dict[str, object]:
    credentials = [{"accessKey": store.access_key, "secretKey": store.secret_key}]
    actions = ["Admin", "Read", "List", "Tagging", "Write"]
    return {"identities": [{"name": "test", "credentials": credentials, "actions": actions}]}


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
