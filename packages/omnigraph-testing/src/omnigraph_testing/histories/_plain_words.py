"""Plain words for lists, transactions and spans of time, short enough to be read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from omnigraph_testing.histories._history_model import Element, Key, Read, Transaction, show_key

__all__ = ["describe", "show_list", "show_span"]

_SHOWN = 8
_MICROSECOND, _MILLISECOND, _SECOND = 1_000, 1_000_000, 1_000_000_000


def show_list(elements: Sequence[Element]) -> str:
    """Write a list in full if it is short, else its end and its length."""
    if len(elements) <= _SHOWN:
        return f"[{', '.join(map(repr, elements))}]"
    end = ", ".join(map(repr, elements[-_SHOWN + 2 :]))
    return f"[…, {end}] ({len(elements)} elements)"


def show_span(nanoseconds: int) -> str:
    """Write a span of time in the unit that suits it."""
    if nanoseconds < _MILLISECOND:
        return f"{nanoseconds / _MICROSECOND:.3g} µs"
    if nanoseconds < _SECOND:
        return f"{nanoseconds / _MILLISECOND:.3g} ms"
    return f"{nanoseconds / _SECOND:.3g} s"


def describe(transaction: Transaction, keys: Collection[Key]) -> str:
    """Write one transaction on one line: what it did to ``keys``, and that it did more."""
    where = f" on {transaction.branch}" if transaction.branch else ""
    told = [op for op in transaction.ops if op.key in keys]
    did = "; ".join(
        f"read {show_list(op.value)} of {show_key(op.key)}"
        if isinstance(op, Read) and op.value is not None
        else str(op)
        for op in told
    )
    if len(told) < len(transaction.ops):
        did += f"; and {len(transaction.ops) - len(told)} more on other keys"
    note = f" ({transaction.note})" if transaction.note else ""
    return (
        f"T{transaction.id} of {transaction.process}{where}, "
        f"{transaction.outcome.value}{note}: {did.removeprefix('; ')}"
    )
