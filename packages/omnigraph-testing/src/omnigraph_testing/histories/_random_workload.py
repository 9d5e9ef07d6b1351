"""What the workers of a run ask for: random transactions that a seed makes repeatable.

Invariant: the same seed, worker and incarnation give the same transactions; elements are unique
within a run, because every incarnation of a worker numbers its own in a range of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

from attrs import Attribute, field, frozen

from omnigraph_testing.errors import InvalidOption
from omnigraph_testing.histories._history_model import Append, Key, MicroOp, Read

__all__ = ["ELEMENTS_EACH", "Workload"]

ELEMENTS_EACH = 10_000_000


def _that(expected: str, test: Any) -> Any:
    def check(_: Any, attribute: Attribute[Any], value: Any) -> None:
        if not test(value):
            raise InvalidOption(
                option=f"Workload.{attribute.name}", found=repr(value), expected=expected
            )

    return check


def _distinct(keys: tuple[Key, ...]) -> bool:
    return 0 < len(keys) == len(set(keys))


@frozen
class Workload:
    """A mix of reads and appends.

    ``keys`` are read and appended to; with ``branches`` each transaction picks one branch, and a
    key becomes ``(branch, key)``. ``length`` bounds the operations in a transaction, ``appends``
    is the share of appends. With ``skew`` the first keys are asked for more often: the n-th with
    the weight ``1/n**skew``. Reads return whole lists, so in long runs let ``rotate_after`` give
    every worker fresh keys, ``(…, "1")``, ``(…, "2")``, after that many of its transactions.
    """

    keys: tuple[Key, ...] = field(
        converter=tuple, validator=_that("at least one key, each once", _distinct)
    )
    seed: int = 0
    length: tuple[int, int] = field(
        default=(1, 4),
        kw_only=True,
        validator=_that("two numbers, 1 ≤ least ≤ most", lambda v: 1 <= v[0] <= v[1]),
    )
    appends: float = field(
        default=0.5, kw_only=True, validator=_that("a share from 0 to 1", lambda v: 0 <= v <= 1)
    )
    skew: float = field(default=0.0, kw_only=True, validator=_that("0 or more", lambda v: v >= 0))
    rotate_after: int | None = field(
        default=None, kw_only=True, validator=_that("1 or more", lambda v: v is None or v >= 1)
    )
    branches: tuple[str, ...] = field(default=(), kw_only=True, converter=tuple)

    def transactions(
        self, worker: int, *, slot: int, first: int = 0
    ) -> Iterator[tuple[str | None, tuple[MicroOp, ...]]]:
        """Yield branch and operations without end.

        ``slot`` is a number that no other incarnation of any worker has; ``first`` says how many
        transactions this worker has behind it.
        """
        random = Random(f"{self.seed}/{worker}/{slot}")  # noqa: S311  # repeatable, not secret
        weights = [1 / place**self.skew for place in range(1, len(self.keys) + 1)]
        elements = count(slot * ELEMENTS_EACH)
        for number in count(first):
            branch = random.choice(self.branches) if self.branches else None
            generation = number // self.rotate_after if self.rotate_after else 0
            ops: list[MicroOp] = []
            for plain in random.choices(self.keys, weights, k=random.randint(*self.length)):
                key = _placed(plain, branch, generation)
                append = random.random() < self.appends
                ops.append(Append(key, next(elements)) if append else Read(key))
            yield branch, tuple(ops)


def _placed(key: Key, branch: str | None, generation: int) -> Key:
    if branch is None and not generation:
        return key
    parts = (key,) if isinstance(key, str) else key
    before = () if branch is None else (branch,)
    after = (str(generation),) if generation else ()
    return (*before, *parts, *after)
