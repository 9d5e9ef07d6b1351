"""Which rows fit a table, and why the others do not.

Always: each row is either in a batch that the table takes, or rejected with a reason; the order of
those that fit is kept. Where all rows of a piece fit, it is looked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from attrs import frozen

from omnigraph_l2._cli.work.load.rows import Rows
from omnigraph_l2.errors import InvalidData

__all__ = ["Reject", "judged"]

_REASONS = {"id": "no_id", "src": "no_end", "dst": "no_end"}


@frozen(kw_only=True)
class Reject:
    """A row, or a line, that is set aside."""

    reason: str
    """The same words as those of omnigraph-spark: malformed, no_id, no_end, null, unfit."""
    detail: str
    number: int
    """Which row of its file it is, from 1; which line, where it is malformed."""
    row: dict[str, Any] | None = None
    line: str | None = None


def judged(
    rows: Rows, first: int, fit: Callable[[Rows], pa.RecordBatch]
) -> Iterator[pa.RecordBatch | Reject]:
    """Tell rows that fit from others: halves of halves, where some do not."""
    try:
        yield fit(rows)
    except InvalidData as error:
        if len(rows) == 1:
            yield _reject(rows, first, error)
            return
        half = len(rows) // 2
        yield from judged(rows.cut(0, half), first, fit)
        yield from judged(rows.cut(half, len(rows) - half), first + half, fit)


def _reject(rows: Rows, number: int, error: InvalidData) -> Reject:
    told = rows.told_all()[0]
    problem = error.problems[0]
    column = problem.column
    reason = _REASONS.get(column)
    if reason is None:
        reason = "null" if told.get(column) is None and column in told else "unfit"
    detail = "; ".join(f"{each.column!r} {each.problem}" for each in error.problems)
    return Reject(reason=reason, detail=detail, number=number, row=told)
