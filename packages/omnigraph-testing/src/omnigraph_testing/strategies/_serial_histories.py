"""Histories that are good by construction: a serial store, asked by processes that overlap.

Invariant: every history drawn is strictly serializable. Each transaction takes effect at one moment
between its invocation and its answer; those that failed take none, those whose reply was lost may
take one, even later than the next act of their process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define, field
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from omnigraph_testing.histories import (
    Append,
    Element,
    History,
    Key,
    MicroOp,
    Outcome,
    Read,
    Transaction,
)

__all__ = ["histories"]

_LONGEST = 20


@define
class _Plan:
    id: int
    process: int
    ops: list[tuple[Key, bool]]
    outcome: Outcome
    invoked: int
    completed: int
    effect: int | None
    done: tuple[MicroOp, ...] = field(default=())


@st.composite
def histories(
    draw: DrawFn,
    *,
    keys: Sequence[Key] = ("x", "y", "z"),
    max_processes: int = 4,
    max_transactions: int = 12,
    max_length: int = 4,
    outcomes: Sequence[Outcome] = tuple(Outcome),
) -> Any:
    """Draw a ``History`` that is strictly serializable."""
    op = st.tuples(st.sampled_from(list(keys)), st.booleans())
    free = [0] * draw(st.integers(1, max_processes))
    plans = []
    for number in range(1, draw(st.integers(0, max_transactions)) + 1):
        process = draw(st.integers(0, len(free) - 1))
        outcome = draw(st.sampled_from(list(outcomes)))
        invoked = free[process] + draw(st.integers(0, _LONGEST))
        completed = invoked + draw(st.integers(0, _LONGEST))
        free[process] = completed + draw(st.integers(0, 1))
        ops = draw(st.lists(op, max_size=max_length))
        effect = draw(_effect(outcome, invoked, completed))
        plans.append(_Plan(number, process, ops, outcome, invoked, completed, effect))
    _play(plans)
    return History(_transaction(plan) for plan in plans)


def _effect(outcome: Outcome, invoked: int, completed: int) -> st.SearchStrategy[int | None]:
    if outcome is Outcome.FAILED:
        return st.none()
    if outcome is Outcome.OK:
        return st.integers(invoked, completed)
    return st.none() | st.integers(invoked, completed + 3 * _LONGEST)


def _play(plans: list[_Plan]) -> None:
    """Let the transactions take effect one after the other, and note what each of them saw."""
    lists: dict[Key, list[Element]] = {}
    element = 0
    moments = [(plan.effect, plan.invoked, plan) for plan in plans if plan.effect is not None]
    for _, _, plan in sorted(moments, key=lambda one: one[:2]):
        done: list[MicroOp] = []
        for key, append in plan.ops:
            held = lists.setdefault(key, [])
            if append:
                element += 1
                held.append(element)
                done.append(Append(key, element))
            else:
                done.append(Read(key, tuple(held)))
        plan.done = tuple(done)
    for plan in plans:
        if plan.effect is None:
            element += len(plan.ops)
            plan.done = tuple(
                Append(key, element - location) if append else Read(key)
                for location, (key, append) in enumerate(plan.ops)
            )


def _transaction(plan: _Plan) -> Transaction:
    known = plan.outcome is Outcome.OK
    return Transaction(
        plan.id,
        plan.done
        if known
        else tuple(Read(op.key) if isinstance(op, Read) else op for op in plan.done),
        outcome=plan.outcome,
        process=f"p{plan.process}",
        invoked=plan.invoked,
        completed=plan.completed,
    )
