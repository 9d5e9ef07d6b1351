"""``start_s3``: a real S3 server for the length of a ``with`` block, outside pytest too."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs

from omnigraph_testing._servers._kinds import ServerKind
from omnigraph_testing._servers._lease import Lease, acquire
from omnigraph_testing._servers._store import S3Store

__all__ = ["S3Server", "start_s3"]


@attrs.frozen(eq=False)
class S3Server:
    """A server that runs. It hands out stores, no two of which overlap."""

    kind: ServerKind
    _lease: Lease = attrs.field(repr=False, alias="lease")

    @property
    def root(self) -> S3Store:
        """The whole bucket."""
        return self._lease.store

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return self.root.endpoint

    @property
    def pid(self) -> int:
        """The process of the server."""
        return self._lease.pid

    def store(self, prefix: str | None = None) -> S3Store:
        """Return a store below ``prefix``, or below a fresh one."""
        return self.root.below(prefix or f"t{secrets.token_hex(6)}")


@contextlib.contextmanager
def start_s3(
    kind: ServerKind | str = ServerKind.SEAWEEDFS, *, directory: Path | str | None = None
) -> Iterator[S3Server]:
    """Run a real S3 server for the length of the block.

    Processes that give the same ``directory`` share one server, which ends with the last of them;
    without it the server is this block's own. Raises ``ServerUnavailable`` where it cannot run.
    """
    chosen = ServerKind.of(kind)
    with contextlib.ExitStack() as stack:
        if directory is None:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="omnigraph-s3-"))
        lease = acquire(chosen, Path(directory))
        stack.callback(lease.release)
        yield S3Server(chosen, lease)
