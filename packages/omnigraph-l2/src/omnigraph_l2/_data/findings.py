"""Collecting problems while data is looked at, and choosing which of them are shown.

Always: every problem is counted; what is kept is bounded, however many rows are bad. Those that
are shown come from as many columns as possible, in the order of the columns, unknown ones first.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2._data.problems import SHOWN, DataProblem, DataProblems

__all__ = ["Findings", "Lengths", "Spot", "short"]

Lengths = npt.NDArray[np.int64]
"""How many items each list of a column has; 0 where there is no list."""

_REPR_LENGTH = 40


def short(value: object) -> str:
    """Show a value, but not more of it than a message can bear."""
    text = repr(value[: _REPR_LENGTH * 2]) if isinstance(value, str | bytes) else repr(value)
    return text if len(text) <= _REPR_LENGTH else f"{text[:_REPR_LENGTH]}…"


class Findings:
    """The problems found so far."""

    def __init__(self, what: str, columns: Sequence[str] = ()) -> None:
        self.what = what
        self._order = {name: position for position, name in enumerate(columns)}
        self._kept: dict[str, list[DataProblem]] = {}
        self.count = 0

    def __bool__(self) -> bool:
        return self.count > 0

    def add(self, column: str, problem: str, row: int | None = None) -> None:
        """Note one problem."""
        self.count += 1
        kept = self._kept.setdefault(column, [])
        if len(kept) < SHOWN:
            kept.append(DataProblem(column, problem, row=row))

    def add_uncounted(self, count: int) -> None:
        """Note problems that will not be shown."""
        self.count += count

    def raise_if_any(self) -> None:
        """Raise ``DataProblems`` if something was found."""
        if not self:
            return
        columns = [self._kept[path] for path in sorted(self._kept, key=self._position)]
        ranked = sorted(
            (rank, position)
            for position, problems in enumerate(columns)
            for rank in range(len(problems))
        )
        chosen = [(position, columns[position][rank]) for rank, position in ranked[:SHOWN]]
        chosen.sort(key=lambda entry: (entry[0], -1 if entry[1].row is None else entry[1].row))
        problems = tuple(problem for _, problem in chosen)
        raise DataProblems(problems, what=self.what, more=self.count - len(problems))

    def _position(self, path: str) -> int:
        column = path if path in self._order else re.split(r"[.\[]", path)[0]
        return self._order.get(column, -1)


@attrs.frozen
class Spot:
    """Where one looks: a column or a path into it, and how its entries relate to rows."""

    path: str
    findings: Findings
    row_of: Callable[[int], int] = attrs.field(kw_only=True)

    def inside(self, name: str) -> Spot:
        """Go to a field of a struct."""
        return attrs.evolve(self, path=f"{self.path}.{name}")

    def items(self, lengths: Lengths, suffix: str = "[]") -> Spot:
        """Go to the items of lists that are that long."""
        ends: list[int] = []

        def row_of(index: int) -> int:
            if not ends:
                ends.extend(np.cumsum(lengths).tolist())
            return self.row_of(bisect.bisect_right(ends, index))

        return attrs.evolve(self, path=self.path + suffix, row_of=row_of)

    def chosen(self, positions: list[int]) -> Spot:
        """Go to some of the entries."""
        return attrs.evolve(self, row_of=lambda index: self.row_of(positions[index]))

    def refuse(self, problem: str) -> None:
        """Note a problem that is not one of a single row."""
        self.findings.add(self.path, problem)

    def refuse_entry(self, index: int, problem: str) -> None:
        """Note a problem of one entry."""
        self.findings.add(self.path, problem, self.row_of(index))

    def refuse_where(self, bad: pa.Array, array: pa.Array, problem: str) -> bool:
        """Note a problem of each entry where ``bad`` is true. ``{}`` stands for the value."""
        bad = pc.fill_null(bad, fill_value=False)
        count: int = bad.true_count
        if not count:
            return False
        for index in pc.indices_nonzero(bad)[:SHOWN].to_pylist():
            self.refuse_entry(index, problem.replace("{}", _shown(array[index])))
        self.findings.add_uncounted(max(0, count - SHOWN))
        return True


def _shown(scalar: Any) -> str:
    try:
        return short(scalar.as_py())
    except Exception:  # noqa: BLE001 - Python cannot hold it, and a message must not fail for that
        return str(getattr(scalar, "value", f"a {scalar.type}"))
