"""What the committed transactions saw, freed of what they added themselves.

A read after own appends shows them at its end; what comes before them is the version that others
had made. A transaction that contradicts itself is reported here, and that read is not used further.
"""

from __future__ import annotations

from attrs import field, frozen

from omnigraph_testing.histories._anomaly_report import Anomaly, AnomalyKind
from omnigraph_testing.histories._history_model import (
    Append,
    Element,
    History,
    Key,
    Outcome,
    Read,
    Transaction,
    show_key,
)
from omnigraph_testing.histories._plain_words import describe, show_list

__all__ = ["Observation", "observe"]


@frozen
class Observation:
    """Transaction number ``reader`` of the history saw ``version`` of a key."""

    reader: int
    version: tuple[Element, ...] = field()


def observe(history: History) -> tuple[dict[Key, list[Observation]], list[Anomaly]]:
    """Collect the observations of every key, and what is wrong within single transactions."""
    by_key: dict[Key, list[Observation]] = {}
    anomalies: list[Anomaly] = []
    for number, transaction in enumerate(history.transactions):
        if transaction.outcome is Outcome.OK:
            _observe_one(number, transaction, by_key, anomalies)
    return by_key, anomalies


def _observe_one(
    number: int,
    transaction: Transaction,
    by_key: dict[Key, list[Observation]],
    anomalies: list[Anomaly],
) -> None:
    own: dict[Key, list[Element]] = {}
    seen: dict[Key, tuple[Element, ...]] = {}
    for op in transaction.ops:
        if isinstance(op, Append):
            own.setdefault(op.key, []).append(op.element)
            continue
        mine = tuple(own.get(op.key, ()))
        value = op.value or ()
        version = value[: len(value) - len(mine)]
        if value[len(version) :] != mine:
            anomalies.append(_misses_own(transaction, op, mine))
            continue
        before = seen.setdefault(op.key, version)
        if before != version:
            anomalies.append(_changed(transaction, op, before, version))
        by_key.setdefault(op.key, []).append(Observation(number, version))


def _misses_own(transaction: Transaction, op: Read, mine: tuple[Element, ...]) -> Anomaly:
    return Anomaly(
        AnomalyKind.INTERNAL,
        (transaction.id,),
        key=op.key,
        detail=(
            f"T{transaction.id} had appended {show_list(mine)} to {show_key(op.key)}, then read "
            f"{show_list(op.value or ())}, which does not end with it."
        ),
        scene=(describe(transaction, (op.key,)),),
    )


def _changed(
    transaction: Transaction,
    op: Read,
    before: tuple[Element, ...],
    version: tuple[Element, ...],
) -> Anomaly:
    grew = version[: len(before)] == before
    more = (
        f"Others' {show_list(version[len(before) :])} appeared in between."
        if grew
        else "Nobody may change what it sees while it is at work."
    )
    return Anomaly(
        AnomalyKind.PHANTOM if grew else AnomalyKind.INTERNAL,
        (transaction.id,),
        key=op.key,
        detail=(
            f"T{transaction.id} read {show_list(before)} of {show_key(op.key)} at first and "
            f"{show_list(version)} later, its own appends left out. {more}"
        ),
        scene=(describe(transaction, (op.key,)),),
    )
