"""``FaultyS3``: the store as a test sees it through the gateway, and the levers of the gateway."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from omnigraph_testing._faults._budget import Budget
from omnigraph_testing._faults._effects import Hold
from omnigraph_testing._faults._engine import Injected
from omnigraph_testing._faults._hold import Held
from omnigraph_testing._faults._log import Request
from omnigraph_testing._faults._operation import Operation
from omnigraph_testing._faults._rule import Rule
from omnigraph_testing._gateway._context import Context
from omnigraph_testing._gateway._server import Server
from omnigraph_testing._gateway._thread import LoopThread
from omnigraph_testing._gateway._upstream import Upstream
from omnigraph_testing._servers._store import S3Store
from omnigraph_testing.errors import GatewayFailed, InvalidOption

if TYPE_CHECKING:
    import obstore.store

__all__ = ["FaultyS3", "start_faulty_s3"]

IDLE_SECONDS = 10.0


class FaultyS3:
    """A store behind a gateway. Clients of any process may use it; rules meet all of them."""

    def __init__(self, context: Context, server: Server, thread: LoopThread) -> None:
        self._context = context
        self._server = server
        self._thread = thread
        self.direct = context.store
        self.store = attrs.evolve(context.store, endpoint=f"http://127.0.0.1:{server.port}")

    # The store, as clients are told of it.

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

    # Faults.

    def inject(self, rule: Rule) -> Injected:
        """Put a rule in force, behind those that are."""
        return self._context.faults.inject(rule)

    def clear(self) -> None:
        """Take all rules out of force, and release what they hold."""
        self._context.faults.clear()

    def hold(
        self,
        method: str | Iterable[str] | None = None,
        *,
        key: str = "*",
        predicate: Callable[[Operation], bool] | None = None,
        nth: int | Iterable[int] | None = None,
        times: int | None = 1,
        at: str = "before",
        cut: bool = False,
    ) -> Held:
        """Keep the first request that matches (``times`` of them) until it is released.

        ``at`` says whether ``before`` or ``after`` its effect. With ``cut`` its client loses the
        connection at once, and the request takes effect when it is released.
        """
        held = Held()
        effect = Hold(held, at=at, cut=cut)
        self.inject(Rule(effect, method, key=key, predicate=predicate, nth=nth, times=times))
        return held

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        """Refuse all connections within the block, and cut those that were open."""
        self._thread.call(self._server.go_down())
        try:
            yield
        finally:
            self._thread.call(self._server.come_up())

    @property
    def latency(self) -> float:
        """Seconds that each request waits before it is passed on."""
        return self._context.latency

    @latency.setter
    def latency(self, seconds: float) -> None:
        if seconds < 0:
            raise InvalidOption(option="latency", found=repr(seconds), expected="0 or more")
        self._context.latency = seconds

    # What happened.

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests since the start or since ``forget_requests``, in the order they came."""
        return self._context.log.all()

    def forget_requests(self) -> None:
        """Empty the log. Numbers go on."""
        self._context.log.clear()

    def wait_until_idle(self, timeout: float = IDLE_SECONDS) -> bool:
        """Wait until no request is under way; tell whether that came about in time."""
        return self._context.log.wait_until_idle(timeout)

    @contextlib.contextmanager
    def expect(
        self,
        *,
        max_requests: int | None = None,
        max_sequential: int | None = None,
        max_bytes: int | None = None,
    ) -> Iterator[None]:
        """Raise ``BudgetExceeded``, listing the requests, if the block asks for more than that.

        ``max_sequential`` bounds the longest chain of requests none of which overlapped: the round
        trips one after another. Set ``latency``, or requests that were sent at once may be served
        so fast that they do not overlap.
        """
        budget = Budget(
            max_requests=max_requests, max_sequential=max_sequential, max_bytes=max_bytes
        )
        log = self._context.log
        before = log.last_number
        yield
        log.wait_until_idle(IDLE_SECONDS)
        budget.check(log.since(before))


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
