"""``start_s3`` runs a real S3 server for a ``with`` block; ``connect_s3`` uses a running one."""

from __future__ import annotations

import contextlib
import http.client
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs

from omnigraph_testing._servers.s3_store import S3Store
from omnigraph_testing._servers.server_kinds import ServerKind
from omnigraph_testing._servers.server_lease import BUCKET, acquire
from omnigraph_testing._servers.sigv4 import signed_request
from omnigraph_testing.errors import ServerUnavailable

__all__ = ["S3Server", "connect_s3", "start_s3"]

OK, CONFLICT = 200, 409


@attrs.frozen(eq=False)
class S3Server:
    """A running server. It returns stores, no two of which overlap.

    ``root`` is the whole bucket. ``kind`` and ``pid`` (the server's process) are None for a server
    that was not started here.
    """

    kind: ServerKind | None
    root: S3Store
    pid: int | None = None

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return self.root.endpoint

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
        yield S3Server(chosen, lease.store, lease.pid)


def connect_s3(endpoint: str, *, bucket: str = BUCKET) -> S3Server:
    """Return a server that already runs, with the credentials of the usual AWS variables.

    The bucket is created if it does not exist. Raises ``ServerUnavailable``.
    """
    keys = [os.environ.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    if not keys[0] or not keys[1]:
        raise ServerUnavailable(
            server=endpoint,
            reason="AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set",
            remedy="Set both environment variables.",
        )
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    store = S3Store(
        endpoint.rstrip("/"),
        bucket,
        access_key=keys[0],
        secret_key=keys[1],
        session_token=os.environ.get("AWS_SESSION_TOKEN"),
        region=region,
    )
    try:
        status, _ = signed_request(store, "HEAD", "")
        if status != OK:
            status, _ = signed_request(store, "PUT", "")
    except (OSError, http.client.HTTPException) as error:
        raise ServerUnavailable(
            server=endpoint, reason=str(error), remedy="Check that it listens there."
        ) from error
    if status not in {OK, CONFLICT}:
        raise ServerUnavailable(
            server=endpoint,
            reason=f"creating the bucket {bucket!r} returned status {status}",
            remedy="Check the credentials, or create the bucket.",
        )
    return S3Server(None, store)
