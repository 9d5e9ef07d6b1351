"""``FaultyS3``: the store behind a gateway as a test sees it, and the gateway's own controls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from omnigraph_testing._faults.fault_controls import FaultControls
from omnigraph_testing._gateway.gateway_context import Context
from omnigraph_testing._gateway.gateway_server import Server
from omnigraph_testing._gateway.loop_thread import LoopThread
from omnigraph_testing._gateway.upstream_pool import Upstream
from omnigraph_testing._servers.s3_store import S3Store
from omnigraph_testing.errors import GatewayFailed, InvalidOption

if TYPE_CHECKING:
    import obstore.store

__all__ = ["FaultyS3", "start_faulty_s3"]


class FaultyS3(FaultControls):
    """A store behind a gateway. Clients of any process may use it; rules meet all of them."""

    def __init__(self, context: Context, server: Server, thread: LoopThread) -> None:
        super().__init__(context)
        self._server = server
        self._thread = thread
        self.direct = context.store
        self.store = attrs.evolve(context.store, endpoint=f"http://127.0.0.1:{server.port}")

    @property
    def endpoint(self) -> str:
        """Where the gateway listens."""
        return self.store.endpoint

    @property
    def bucket(self) -> str:
        """The bucket."""
        return self.store.bucket

    def key(self, name: str = "") -> str:
        """Return the key of ``name`` within the bucket."""
        return self.store.key(name)

    def uri(self, name: str = "") -> str:
        """Return ``s3://bucket/prefix/name``."""
        return self.store.uri(name)

    @property
    def storage_options(self) -> dict[str, str]:
        """What Lance takes as ``storage_options``."""
        return self.store.storage_options

    @property
    def obstore_kwargs(self) -> dict[str, dict[str, str]]:
        """What ``obstore.store.from_url`` takes beside the URI."""
        return self.store.obstore_kwargs

    @property
    def client_kwargs(self) -> dict[str, str]:
        """What ``boto3.client("s3", **kwargs)`` takes."""
        return self.store.client_kwargs

    def obstore(self, name: str = "") -> obstore.store.S3Store:
        """Return an obstore store below ``name``."""
        return self.store.obstore(name)

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        """Refuse all connections within the block, and cut those that were open."""
        self._thread.call(self._server.go_down())
        try:
            yield
        finally:
            self._thread.call(self._server.come_up())


@contextlib.contextmanager
def start_faulty_s3(store: S3Store) -> Iterator[FaultyS3]:
    """Run a gateway before ``store`` for the length of the block.

    Raises ``GatewayFailed`` at its end if a predicate of a rule raised, or the gateway itself did.
    """
    address = urlsplit(store.endpoint)
    if address.scheme != "http" or not address.hostname:
        raise InvalidOption(
            option="the endpoint of the store", found=store.endpoint, expected="http://host:port"
        )
    context = Context(store, Upstream(address.hostname, address.port or 80))
    server = Server(context)
    with LoopThread() as thread:
        try:
            thread.call(server.come_up())
            yield FaultyS3(context, server, thread)
        finally:
            thread.call(server.close())
    if context.failures:
        raise GatewayFailed(reasons=tuple(map(repr, context.failures))) from context.failures[0]
