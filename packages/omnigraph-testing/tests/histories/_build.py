"""Short ways to write a history down.

``x+1`` appends 1 to x, ``x=1,2`` read [1, 2] of x, ``x=`` read nothing of it, ``x?`` asked for it.
Transactions overlap and belong to different processes unless a test says otherwise.
"""

from __future__ import annotations

import re
from itertools import count

from omnigraph_testing.histories import Append, History, MicroOp, Outcome, Read, Transaction

_OP = re.compile(r"(\w+)(\+\d+|=[\d,]*|\?)")


def ops(text: str) -> tuple[MicroOp, ...]:
    found: list[MicroOp] = []
    for key, rest in _OP.findall(text):
        if rest[0] == "+":
            found.append(Append(key, int(rest[1:])))
        elif rest == "?":
            found.append(Read(key))
        else:
            found.append(Read(key, tuple(int(n) for n in rest[1:].split(",") if n)))
    return tuple(found)


def history(*lines: str | tuple[str, dict[str, object]]) -> History:
    """Each line is the operations of T1, T2, …; a pair adds fields: at=(0, 9), outcome, process."""
    numbers = count(1)
    transactions = []
    for number, line in zip(numbers, lines, strict=False):
        text, fields = (line, {}) if isinstance(line, str) else line
        fields = dict(fields)
        invoked, completed = fields.pop("at", (0, 100))  # type: ignore[misc]
        fields.setdefault("process", f"p{number}")
        transactions.append(
            Transaction(number, ops(text), invoked=invoked, completed=completed, **fields)  # type: ignore[arg-type]
        )
    return History(transactions)


def at(invoked: int, completed: int, **fields: object) -> dict[str, object]:
    return {"at": (invoked, completed), **fields}


FAILED = {"outcome": Outcome.FAILED}
UNKNOWN = {"outcome": Outcome.UNKNOWN}
