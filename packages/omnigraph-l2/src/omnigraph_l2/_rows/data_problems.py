"""Problems of incoming rows: collect them, carry them, translate them into public errors. Pure.

Every problem is counted; only a bounded number is kept, however many rows are bad. Those that are
shown come from as many columns as possible, in the order of the columns, unknown columns first.
Also here: the rule that an id is a string that is not empty and holds no NUL.

Invariant: an error carries every problem that was found, at most ``SHOWN`` of them in full and the
number of the others. ``DataProblems`` and ``SpillFailed`` are private: ``translate_data_errors``
makes of them public errors that name the table, and none leaves a transaction.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2.errors import DataProblem, InvalidData, StorageError

__all__ = [
    "SHOWN",
    "DataProblems",
    "Findings",
    "Lengths",
    "SpillFailed",
    "Spot",
    "id_columns",
    "refuse_bad_ids",
    "short",
    "translate_data_errors",
]

SHOWN = 20
"""How many problems one error spells out."""


def _rebuild(cls: type[Exception], fields: dict[str, Any]) -> Exception:
    return cls(**fields)


@attrs.define(slots=False)
class DataProblems(Exception):
    """The data does not fit. Nothing was changed or written. ``more`` problems are not listed."""

    problems: tuple[DataProblem, ...]
    what: str = attrs.field(default="the table", kw_only=True)
    more: int = attrs.field(default=0, kw_only=True)

    def __str__(self) -> str:
        listed = "; ".join(str(problem) for problem in self.problems)
        more = f"; and {self.more} more" if self.more else ""
        return f"Invalid data for {self.what}: {listed}{more}."

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), attrs.asdict(self, recurse=False))


@attrs.define(slots=False, kw_only=True)
class SpillFailed(Exception):
    """Rows could not be spilled to disk. ``full`` is true if no space was left."""

    directory: str
    detail: str
    full: bool = False

    def __str__(self) -> str:
        remedy = "Make room there" if self.full else "Make it a location that can be written"
        return (
            f"Rows that do not fit in memory could not be kept in {self.directory}: "
            f"{self.detail}. {remedy}, or set TMPDIR to a directory with room."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), attrs.asdict(self, recurse=False))


@contextmanager
def translate_data_errors(table_key: str) -> Iterator[None]:
    """Translate problems with data, or with spilling it to disk, into public errors."""
    try:
        yield
    except DataProblems as found:
        problems = list(found.problems)
        if found.more:
            problems.append(DataProblem("*", f"and {found.more} more problems"))
        raise InvalidData(table_key=table_key, problems=tuple(problems)) from None
    except SpillFailed as error:
        raise StorageError(location=error.directory, detail=str(error)) from error


Lengths = npt.NDArray[np.int64]
"""How many items each list of a column has; 0 where there is no list."""

_REPR_LENGTH = 40


def short(value: object) -> str:
    """Return a value as text, shortened for a message."""
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
            kept.append(DataProblem(column, problem, row))

    def add_uncounted(self, count: int) -> None:
        """Count problems that are not shown."""
        self.count += count

    def raise_if_any(self) -> None:
        """Raise ``DataProblems`` if there is any problem."""
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
    """A position in the data: a column or a path into it, and how its entries relate to rows."""

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

    def choose(self, positions: list[int]) -> Spot:
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
            self.refuse_entry(index, problem.replace("{}", _show(array[index])))
        self.findings.add_uncounted(max(0, count - SHOWN))
        return True


def _show(scalar: Any) -> str:
    try:
        return short(scalar.as_py())
    except Exception:  # noqa: BLE001 - Python cannot hold it, and a message must not fail for that
        return str(getattr(scalar, "value", f"a {scalar.type}"))


_EDGE = ("id", "src", "dst")


def id_columns(schema: pa.Schema) -> tuple[str, ...]:
    """Return the columns that hold ids: ``id``, and the ends of an edge right after it."""
    names = tuple(schema.names)
    return _EDGE if names[:3] == _EDGE else tuple(name for name in names if name == "id")


def refuse_bad_ids(
    batch: pa.RecordBatch, columns: Sequence[str], findings: Findings, first_row: int
) -> None:
    """Note each id that is empty or holds a NUL."""
    for name in columns:
        ids = batch.column(name)
        spot = Spot(name, findings, row_of=lambda index: first_row + index)
        spot.refuse_where(pc.equal(pc.binary_length(ids), 0), ids, "is an empty id")
        spot.refuse_where(pc.match_substring(ids, "\0"), ids, "the id {} holds a NUL")
