"""Where a process shall be killed, as values.

Always: a place is counted from 1, and from the moment at which the function begins. ``certain``
places must be reached, or the run is an error: a test that never killed anything proves nothing.
How each is carried out is the business of ``_run`` and ``_traced``.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Protocol, TypeAlias

import attrs

from omnigraph_testing.errors import InvalidOption

__all__ = ["AtFileOperation", "AtMoment", "AtPoint", "AtRequest", "InjectsFaults", "Kill"]

_SIDES = ("before", "after")


def _from_one(_instance: object, attribute: attrs.Attribute[int], value: int) -> None:
    if value < 1:
        raise InvalidOption(option=attribute.name, found=repr(value), expected="a number from 1")


def _side(_instance: object, attribute: attrs.Attribute[str], value: str) -> None:
    if value not in _SIDES:
        raise InvalidOption(option=attribute.name, found=repr(value), expected="before or after")


class InjectsFaults(Protocol):
    """A store before which rules can be put: ``faulty_s3``, or a faulty wrapper."""

    def inject(self, rule: Any, /) -> Any:
        """Put a rule in force; the result has ``remove()``."""


@attrs.frozen
class AtPoint:
    """At the n-th time that one process passes a failpoint."""

    certain: ClassVar[bool] = True
    point: str
    hit: int = attrs.field(kw_only=True, default=1, validator=_from_one)

    def __str__(self) -> str:
        return f"at {self.point}" + (f" (hit {self.hit})" if self.hit > 1 else "")


@attrs.frozen
class AtRequest:
    """At the n-th request to a store that matches, before or after it had its effect."""

    certain: ClassVar[bool] = True
    store: InjectsFaults = attrs.field(repr=False)
    n: int = attrs.field(validator=_from_one)
    method: str | None = attrs.field(kw_only=True, default=None)
    key: str = attrs.field(kw_only=True, default="*")
    at: str = attrs.field(kw_only=True, default="before", validator=_side)

    def __str__(self) -> str:
        what = f"{self.method or 'request'} of {self.key}"
        return f"{self.at} its {what} number {self.n}"


@attrs.frozen
class AtFileOperation:
    """At the n-th operation on files below ``root`` that matches, before or after its effect.

    ``kind`` is one of create, write, truncate, mkdir, symlink, link, rename, exchange, unlink,
    sync, syncall; ``path`` a glob in which ``*`` crosses slashes. Only operations that succeed
    are counted.
    """

    certain: ClassVar[bool] = True
    n: int = attrs.field(validator=_from_one)
    root: str | os.PathLike[str] = attrs.field(kw_only=True)
    kind: str | None = attrs.field(kw_only=True, default=None)
    path: str = attrs.field(kw_only=True, default="*")
    at: str = attrs.field(kw_only=True, default="before", validator=_side)

    def __str__(self) -> str:
        what = self.kind or "file operation"
        where = "" if self.path == "*" else f" of {self.path}"
        return f"{self.at} {what} number {self.n}{where}"

    def stopper(self) -> Callable[[Any, bool], bool]:
        """Build the function that the tracer asks at each operation, before and after it."""
        count = 0

        def stop(begun: Any, done: bool) -> bool:  # noqa: FBT001 - the tracer's own protocol
            nonlocal count
            if begun.kind == "report" or not self._matches(begun):
                return False
            if done:
                count += 1
                return self.at == "after" and count == self.n
            return self.at == "before" and count == self.n - 1

        return stop

    def _matches(self, begun: Any) -> bool:
        return self.kind in {None, begun.kind} and fnmatchcase(begun.path, self.path)


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


Kill: TypeAlias = AtPoint | AtRequest | AtFileOperation | AtMoment
