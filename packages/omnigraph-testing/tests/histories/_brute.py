"""The slow second opinion: try every order of every choice of unknown transactions."""

from __future__ import annotations

from itertools import combinations, permutations

from omnigraph_testing.histories import Append, History, Outcome, Transaction


def has_serial_order(history: History, *, real_time: bool, sessions: bool) -> bool:
    """Say whether any order of the committed transactions, played one by one, fits all reads."""
    sure = [one for one in history.transactions if one.outcome is Outcome.OK]
    perhaps = [one for one in history.transactions if one.outcome is Outcome.UNKNOWN]
    return any(
        _respected(order, real_time=real_time, sessions=sessions) and _replays(order)
        for count in range(len(perhaps) + 1)
        for chosen in combinations(perhaps, count)
        for order in permutations([*sure, *chosen])
    )


def _respected(order: tuple[Transaction, ...], *, real_time: bool, sessions: bool) -> bool:
    for place, late in enumerate(order):
        for early in order[:place]:
            if late.outcome is not Outcome.OK or late.completed is None:
                continue
            if real_time and late.completed < early.invoked:
                return False
            if sessions and late.process == early.process and late.began < early.began:
                return False
    return True


def _replays(order: tuple[Transaction, ...]) -> bool:
    lists: dict[object, list[object]] = {}
    for transaction in order:
        for op in transaction.ops:
            held = lists.setdefault(op.key, [])
            if isinstance(op, Append):
                held.append(op.element)
            elif op.value is not None and list(op.value) != held:
                return False
    return True
