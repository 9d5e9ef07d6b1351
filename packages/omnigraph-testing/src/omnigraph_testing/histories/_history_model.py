"""What a history is: transactions of micro-operations, who did them, when, and what came of it.

Invariant: a ``History`` in hand is well formed. No two transactions share an id, nothing is
appended twice to one key, every committed read has a value, and a process does one thing at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from math import inf
from typing import Union

from attrs import field, frozen

from omnigraph_testing.errors import InvalidHistory

__all__ = [
    "Append",
    "Element",
    "History",
    "Key",
    "MicroOp",
    "Outcome",
    "Read",
    "Transaction",
    "show_key",
]

Key = str | tuple[str, ...]
Element = int | str


class Outcome(str, Enum):
    """The reply that the client got. ``UNKNOWN``: the reply was lost, or never came."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


@frozen
class Append:
    """Put ``element`` at the end of the list under ``key``. No other append has that element."""

    key: Key
    element: Element

    def __str__(self) -> str:
        return f"append {self.element!r} to {show_key(self.key)}"


@frozen
class Read:
    """Read the whole list under ``key``. ``value`` is None until it was answered."""

    key: Key
    value: tuple[Element, ...] | None = None

    def __str__(self) -> str:
        if self.value is None:
            return f"read {show_key(self.key)}"
        return f"read {list(self.value)!r} of {show_key(self.key)}"


MicroOp = Union[Append, Read]  # noqa: UP007


@frozen
class Transaction:
    """One transaction as its client saw it. Times are nanoseconds of one monotonic clock.

    ``completed`` is when the answer came; None if none came. The effect of an unknown one may
    still come later, so its end bounds nothing.
    """

    id: int
    ops: tuple[MicroOp, ...]
    outcome: Outcome = field(kw_only=True, default=Outcome.OK)
    process: str = field(kw_only=True)
    invoked: int = field(kw_only=True)
    completed: int | None = field(kw_only=True, default=None)
    branch: str | None = field(kw_only=True, default=None)
    note: str = field(kw_only=True, default="")

    @property
    def began(self) -> tuple[int, float]:
        """A key that sorts transactions, and those of one process in the order of its acts."""
        return self.invoked, inf if self.completed is None else self.completed

    @property
    def ended(self) -> int | None:
        """The time by which its effect was certainly there or certainly never to come."""
        return None if self.outcome is Outcome.UNKNOWN else self.completed

    def problem(self) -> str | None:
        """Return what is wrong with this transaction in itself, or None."""
        if self.outcome is not Outcome.UNKNOWN and self.completed is None:
            return f"is {self.outcome.value}, but has no time of completion"
        if self.completed is not None and self.completed < self.invoked:
            return f"was completed at {self.completed}, before it was invoked at {self.invoked}"
        committed = self.outcome is Outcome.OK
        for op in self.ops:
            if isinstance(op, Read) and (op.value is None) is committed:
                return (
                    f"is {self.outcome.value}, but its read of {show_key(op.key)} has "
                    f"{'no' if committed else 'a'} value"
                )
        return None


def _as_tuple(transactions: Iterable[Transaction]) -> tuple[Transaction, ...]:
    return tuple(transactions)


@frozen
class History:
    """Everything that was asked and answered during one run, in no particular order."""

    transactions: tuple[Transaction, ...] = field(converter=_as_tuple)

    def __attrs_post_init__(self) -> None:
        problem = _first_problem(self.transactions)
        if problem:
            raise InvalidHistory(source="history", detail=problem)

    def __len__(self) -> int:
        return len(self.transactions)

    def count(self, outcome: Outcome) -> int:
        """Count the transactions with this outcome."""
        return sum(transaction.outcome is outcome for transaction in self.transactions)

    @property
    def operations(self) -> int:
        """The number of micro-operations in all transactions."""
        return sum(len(transaction.ops) for transaction in self.transactions)


def show_key(key: Key) -> str:
    """Write a key as a person would: ``main/node:Person`` for a branch and a table."""
    return key if isinstance(key, str) else "/".join(key)


def _first_problem(transactions: Iterable[Transaction]) -> str | None:
    appended: dict[tuple[Key, Element], int] = {}
    last_of_process: dict[str, Transaction] = {}
    ids = Counter(transaction.id for transaction in transactions)
    if ids and (most := ids.most_common(1)[0])[1] > 1:
        return f"two transactions have the id {most[0]}; give each its own"
    for transaction in sorted(transactions, key=lambda one: one.began):
        name = f"T{transaction.id}"
        if problem := transaction.problem():
            return f"{name} {problem}"
        for op in transaction.ops:
            if isinstance(op, Append):
                if (op.key, op.element) in appended:
                    first = appended[op.key, op.element]
                    return (
                        f"{op.element!r} is appended to {show_key(op.key)} by T{first} and again "
                        f"by {name}; every append needs an element of its own"
                    )
                appended[op.key, op.element] = transaction.id
        before = last_of_process.get(transaction.process)
        if before and before.ended is not None and before.ended > transaction.invoked:
            return (
                f"process {transaction.process!r} began {name} while its T{before.id} was not "
                "answered yet; give each thread or process a name of its own"
            )
        last_of_process[transaction.process] = transaction
    return None
