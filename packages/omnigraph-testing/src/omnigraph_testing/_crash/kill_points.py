"""The points at which a process is killed, as values.

Invariant: a point is counted from 1, from the moment at which the function begins. A ``certain``
point must be reached: a test that kills nothing proves nothing.
"""

from __future__ import annotations

import random
from typing import Any, ClassVar, Protocol

import attrs

from omnigraph_testing.errors import InvalidOption

__all__ = [
    "AtMoment",
    "AtPoint",
    "AtRequest",
    "InjectsFaults",
    "Kill",
    "check_from_one",
    "check_side",
]

_SIDES = ("before", "after")


def check_from_one(_instance: object, attribute: attrs.Attribute[int], value: int) -> None:
    """Raise ``InvalidOption`` if the number is below 1."""
    if value < 1:
        raise InvalidOption(option=attribute.name, found=repr(value), expected="a number from 1")


def check_side(_instance: object, attribute: attrs.Attribute[str], value: str) -> None:
    """Raise ``InvalidOption`` if the side is neither before nor after."""
    if value not in _SIDES:
        raise InvalidOption(option=attribute.name, found=repr(value), expected="before or after")


class Kill(Protocol):
    """A point at which a process is killed. Its text says which."""

    certain: ClassVar[bool]
    """Whether a run that ends without reaching it is an error."""


class InjectsFaults(Protocol):
    """A store before which rules can be put: ``faulty_s3``, or a faulty wrapper."""

    def inject(self, rule: Any, /) -> Any:
        """Put a rule in force; the result has ``remove()``."""


@attrs.frozen
class AtPoint:
    """At the n-th time that one process passes a failpoint."""

    certain: ClassVar[bool] = True
    point: str
    hit: int = attrs.field(kw_only=True, default=1, validator=check_from_one)

    def __str__(self) -> str:
        return f"at {self.point}" + (f" (hit {self.hit})" if self.hit > 1 else "")


@attrs.frozen
class AtRequest:
    """At the n-th request to a store that matches, before or after it had its effect."""

    certain: ClassVar[bool] = True
    store: InjectsFaults = attrs.field(repr=False)
    n: int = attrs.field(validator=check_from_one)
    method: str | None = attrs.field(kw_only=True, default=None)
    key: str = attrs.field(kw_only=True, default="*")
    at: str = attrs.field(kw_only=True, default="before", validator=check_side)

    def __str__(self) -> str:
        what = f"{self.method or 'request'} of {self.key}"
        return f"{self.at} its {what} number {self.n}"


@attrs.frozen
class AtMoment:
    """At a moment that a seed chooses, up to ``within`` seconds after the function began."""

    certain: ClassVar[bool] = False
    seed: int
    within: float = attrs.field(kw_only=True)

    @property
    def delay(self) -> float:
        """How many seconds after the beginning."""
        return random.Random(self.seed).uniform(0, self.within)  # noqa: S311

    def __str__(self) -> str:
        return f"{self.delay:.3f} s after its beginning"
