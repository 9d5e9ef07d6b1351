"""The three-way rule, and the base of a merge whose sides have several. Pure.

Invariant: a change of one side is taken; an equal change of both sides is taken once; everything
else is a conflict. If sides have merged each other crosswise, the base is the merge of their common
ancestors, by the same rule on their own base; a conflict in it equals no value.

Values are numbers here: two values of one row are equal if their numbers are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from omnigraph_l2._merge.common_ancestors import Lookup, common_ancestors

__all__ = [
    "ABSENT",
    "CLASH",
    "Base",
    "CommitBase",
    "Numbers",
    "UnknownBase",
    "VirtualBase",
    "base_of",
    "leaves",
    "merge3",
    "merge3_value",
    "resolve_base",
    "resolve_base_value",
]

Numbers: TypeAlias = NDArray[np.int32]

ABSENT: Final = -1
"""The number of a row that is not there."""
CLASH: Final = -2
"""The number of a value that is unequal to every other, also to another of its kind."""


@attrs.frozen
class CommitBase:
    """A base that is one commit."""

    commit_id: str


@attrs.frozen
class UnknownBase:
    """A base of which nothing is known: no value equals one of it."""


@attrs.define(eq=False, slots=False)
class VirtualBase:
    """A base that is the merge of several commits."""

    left: Base
    right: CommitBase
    _below: Callable[[], Base] = attrs.field(repr=False)

    @cached_property
    def base(self) -> Base:
        """What the two come from. It is looked for only if they differ."""
        return self._below()


Base: TypeAlias = CommitBase | UnknownBase | VirtualBase


def base_of(
    lookup: Lookup,
    ours: Collection[str],
    theirs: Collection[str],
    has_data: Callable[[str], bool] = lambda _: True,
) -> Base:
    """Return the base of two sides, each of which is one commit or several that were merged.

    ``has_data`` returns whether the data of a commit still exists.
    """
    ancestors = common_ancestors(lookup, ours, theirs)
    if ancestors.lost or not ancestors.best or not all(map(has_data, ancestors.best)):
        return UnknownBase()
    return _merge_bases(lookup, ancestors.best, has_data)


def _merge_bases(lookup: Lookup, commits: tuple[str, ...], has_data: Callable[[str], bool]) -> Base:
    *others, last = commits
    if not others:
        return CommitBase(last)
    left = tuple(others)
    return VirtualBase(
        _merge_bases(lookup, left, has_data),
        CommitBase(last),
        lambda: base_of(lookup, left, (last,), has_data),
    )


def leaves(base: Base) -> list[str]:
    """Name the commits that a base is made of, without what is below them."""
    if isinstance(base, CommitBase):
        return [base.commit_id]
    return [] if isinstance(base, UnknownBase) else [*leaves(base.left), base.right.commit_id]


def merge3(base: Numbers, ours: Numbers, theirs: Numbers) -> Numbers:
    """Apply the rule to many rows."""
    same = (ours == theirs) & (ours != CLASH)
    only_ours = (base == theirs) & (base != CLASH)
    only_theirs = (base == ours) & (base != CLASH)
    chosen = np.where(same | only_ours, ours, np.where(only_theirs, theirs, CLASH))
    return chosen.astype(np.int32)


def resolve_base(
    base: Base,
    value: Callable[[str], Numbers],
    rows: int,
    below: Callable[[str], Numbers] | None = None,
) -> Numbers:
    """Return the values of rows in a base, from those in commits.

    ``below`` gives them for what the commits of a base come from. Cleanup may have removed that;
    then they are ``CLASH``.
    """
    if isinstance(base, CommitBase):
        return value(base.commit_id)
    if isinstance(base, UnknownBase):
        return np.full(rows, CLASH, np.int32)
    left, right = resolve_base(base.left, value, rows, below), value(base.right.commit_id)
    if ((left == right) & (left != CLASH)).all():
        return right
    return merge3(resolve_base(base.base, below or value, rows, below), left, right)


def merge3_value(base: Any, ours: Any, theirs: Any, clash: Any) -> Any:
    """Apply the rule to one thing of any kind."""
    if ours == theirs and ours is not clash:
        return ours
    if base is not clash and base == theirs:
        return ours
    if base is not clash and base == ours:
        return theirs
    return clash


def resolve_base_value(
    base: Base,
    value: Callable[[str], Any],
    clash: Any,
    below: Callable[[str], Any] | None = None,
) -> Any:
    """Return one thing of any kind in a base, from that in commits; ``below`` as above."""
    if isinstance(base, CommitBase):
        return value(base.commit_id)
    if isinstance(base, UnknownBase):
        return clash
    left, right = resolve_base_value(base.left, value, clash, below), value(base.right.commit_id)
    if left is not clash and left == right:
        return left
    deeper = resolve_base_value(base.base, below or value, clash, below)
    return merge3_value(deeper, left, right, clash)
