"""The base of wrappers: fault controls, a time-out, and ``down``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import ClassVar, TypeVar

from omnigraph_testing._faults.fault_controls import FaultControls
from omnigraph_testing._faults.fault_effects import Effect
from omnigraph_testing._faults.fault_engine import Injected
from omnigraph_testing._faults.fault_rule import Rule
from omnigraph_testing._wrappers.fault_execution import WrapperScene, carry_out
from omnigraph_testing._wrappers.wrapped_call import Call
from omnigraph_testing.errors import InvalidOption

__all__ = ["Wrapper"]

T = TypeVar("T")


class Wrapper(FaultControls):
    """Base of ``FaultyStore`` and ``FaultyRefs``."""

    methods: ClassVar[frozenset[str]]
    """What operations there are here."""
    unknown_effects: ClassVar[tuple[type[Effect], ...]] = ()
    """What cannot happen here."""

    def __init__(self, timeout: float) -> None:
        if timeout <= 0:
            raise InvalidOption(option="timeout", found=repr(timeout), expected="more than 0")
        self._carried = WrapperScene(timeout=timeout)
        super().__init__(self._carried)

    def inject(self, rule: Rule) -> Injected:
        """Put a rule in force, behind those that are. One that could never fire is refused."""
        what = type(self).__name__
        if rule.method is not None and not rule.method & self.methods:
            raise InvalidOption(
                option=f"Rule.method of a {what}",
                found=", ".join(sorted(rule.method)),
                expected="one of " + ", ".join(sorted(self.methods)),
            )
        if isinstance(rule.effect, self.unknown_effects):
            raise InvalidOption(
                option=f"Rule.effect of a {what}",
                found=repr(rule.effect),
                expected="one that is not about bytes on a wire",
            )
        return super().inject(rule)

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        """Refuse all connections within the block. Nothing is recorded of it."""
        self._carried.is_down = True
        try:
            yield
        finally:
            self._carried.is_down = False

    def _carry_out(self, call: Call[T]) -> T:
        return carry_out(self._carried, call)
