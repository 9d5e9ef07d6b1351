"""A state machine that drives a store of refs beside a plain dictionary."""

# ruff: noqa: S101 - a test, to be run by others

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from omnigraph_testing._extras import needs_graph

with needs_graph("omnigraph_testing.contracts.refs"):
    from omnigraph_l1 import Ref, RefStore
    from omnigraph_l1.errors import RefChanged, RefExists, RefNotFound

__all__ = ["run_against_model"]

_NAMES = st.sampled_from(["main", "a/b", "a%2Fb", "人"])
_HANDLES = st.integers(0, 1)
_STEPS = 20
_examples = itertools.count()


def run_against_model(
    handles: tuple[RefStore, RefStore], *, examples: int, values: st.SearchStrategy[dict[str, Any]]
) -> None:
    """Do random things to a store through two handles, and compare with a dictionary."""

    class Machine(RuleBasedStateMachine):
        readings = Bundle("readings")

        def __init__(self) -> None:
            super().__init__()
            self.prefix = f"example-{next(_examples)}/"
            self.model: dict[str, Ref] = {}

        @rule(target=readings, handle=_HANDLES, name=_NAMES, value=values)
        def create(self, handle: int, name: str, value: dict[str, Any]) -> Any:
            full = self.prefix + name
            if full in self.model:
                with pytest.raises(RefExists):
                    handles[handle].create(full, value)
                return multiple()
            made = self.model[full] = handles[handle].create(full, value)
            assert made.value == value
            return made

        @rule(target=readings, handle=_HANDLES, name=_NAMES)
        def get(self, handle: int, name: str) -> Any:
            found = handles[handle].get(self.prefix + name)
            assert found == self.model.get(self.prefix + name)
            return multiple() if found is None else found

        @rule(target=readings, handle=_HANDLES, reading=readings, value=values)
        def replace(self, handle: int, reading: Ref, value: dict[str, Any]) -> Any:
            current = self.model.get(reading.name)
            if current != reading:
                with pytest.raises(RefNotFound if current is None else RefChanged):
                    handles[handle].replace(reading, value)
                return multiple()
            made = self.model[reading.name] = handles[handle].replace(reading, value)
            assert made.value == value
            return made

        @rule(handle=_HANDLES, reading=readings)
        def delete(self, handle: int, reading: Ref) -> None:
            current = self.model.get(reading.name)
            if current != reading:
                with pytest.raises(RefNotFound if current is None else RefChanged):
                    handles[handle].delete(reading)
                return
            handles[handle].delete(reading)
            del self.model[reading.name]

        @invariant()
        def the_list_is_the_dictionary(self) -> None:
            listed = handles[0].list(self.prefix)
            assert listed == tuple(self.model[name] for name in sorted(self.model))

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=_STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
