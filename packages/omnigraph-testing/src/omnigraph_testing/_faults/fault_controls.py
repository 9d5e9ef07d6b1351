"""The controls of every faulty store: rules, holds, latency, the request log and budgets.

What a store is, and what "under way" means to it, is the business of the subclass.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

import attrs

from omnigraph_testing._faults.fault_effects import Hold
from omnigraph_testing._faults.fault_engine import Faults, Injected
from omnigraph_testing._faults.fault_rule import Rule
from omnigraph_testing._faults.held_requests import Held
from omnigraph_testing._faults.request_budget import Budget
from omnigraph_testing._faults.request_log import Request, RequestLog
from omnigraph_testing._faults.store_operation import Operation
from omnigraph_testing.errors import InvalidOption

__all__ = ["FaultControls", "Scene"]

IDLE_SECONDS = 10.0


@attrs.define(eq=False, kw_only=True)
class Scene:
    """State shared by the controls and the code that carries out the rules."""

    faults: Faults = attrs.field(factory=Faults)
    log: RequestLog = attrs.field(factory=RequestLog)
    latency: float = 0.0


class FaultControls:
    """Faults, and what happened. Base of ``FaultyS3``, ``FaultyStore`` and ``FaultyRefs``."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def inject(self, rule: Rule) -> Injected:
        """Put a rule in force, behind those that are."""
        return self._scene.faults.inject(rule)

    def clear(self) -> None:
        """Take all rules out of force, and release what they hold."""
        self._scene.faults.clear()

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

    @property
    def latency(self) -> float:
        """Seconds that each request waits before it is passed on."""
        return self._scene.latency

    @latency.setter
    def latency(self, seconds: float) -> None:
        if seconds < 0:
            raise InvalidOption(option="latency", found=repr(seconds), expected="0 or more")
        self._scene.latency = seconds

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests since the start or since ``forget_requests``, in the order they came."""
        return self._scene.log.all()

    def forget_requests(self) -> None:
        """Empty the log. Numbers go on."""
        self._scene.log.clear()

    def wait_until_idle(self, timeout: float = IDLE_SECONDS) -> bool:
        """Wait until no request is under way; return whether that happened in time."""
        return self._scene.log.wait_until_idle(timeout)

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
        log = self._scene.log
        before = log.last_number
        yield
        log.wait_until_idle(IDLE_SECONDS)
        budget.check(log.since(before))
