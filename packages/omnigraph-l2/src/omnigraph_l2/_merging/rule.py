"""The three-way rule, and the base of a merge whose sides have several. Pure.

Always: what one side changed is taken; what both changed in the same way is taken once; everything
else clashes. The base of sides that merged each other crosswise is the merge of their common
ancestors, by the same rule on their own base; what clashes in there equals nothing.

Values are numbers here: two values of one row are equal where their numbers are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from omnigraph_l2._merging.dag import Lookup, common_ancestors

__all__ = [
    "ABSENT",
    "CLASH",
    "Base",
    "Leaf",
    "Nowhere",
    "Numbers",
    "Virtual",
    "base_of",
    "leaves",
    "settled",
    "settled_one",
    "valued",
    "valued_one",
]

Numbers: TypeAlias = NDArray[np.int32]

ABSENT: Final = -1
"""The number of a row that is not there."""
CLASH: Final = -2
"""The number of what equals nothing."""


@attrs.frozen
class Leaf:
    """A base that is one commit."""

    commit_id: str


@attrs.frozen
class Nowhere:
    """A base of which nothing is known: no value equals one of it."""


@attrs.define(eq=False, slots=False)
class Virtual:
    """A base that is the merge of several commits."""

    left: Base
    right: Leaf
    _below: Callable[[], Base] = attrs.field(repr=False)

    @cached_property
    def base(self) -> Base:
        """What the two come from. It is looked for where they differ only."""
        return self._below()


Base: TypeAlias = Leaf | Nowhere | Virtual


def base_of(
    lookup: Lookup,
    ours: Collection[str],
    theirs: Collection[str],
    has_data: Callable[[str], bool] = lambda _: True,
) -> Base:
    """Give the base of two sides, each of which is one commit or several that were merged.

    ``has_data`` tells whether what a commit has made is there still.
    """
    ancestors = common_ancestors(lookup, ours, theirs)
    if ancestors.lost or not ancestors.best or not all(map(has_data, ancestors.best)):
        return Nowhere()
    return _merged(lookup, ancestors.best, has_data)


def _merged(lookup: Lookup, commits: tuple[str, ...], has_data: Callable[[str], bool]) -> Base:
    *others, last = commits
    if not others:
        return Leaf(last)
    left = tuple(others)
    return Virtual(
        _merged(lookup, left, has_data),
        Leaf(last),
        lambda: base_of(lookup, left, (last,), has_data),
    )


def leaves(base: Base) -> list[str]:
    """Name the commits that a base is made of, without what is below them."""
    if isinstance(base, Leaf):
        return [base.commit_id]
    return [] if isinstance(base, Nowhere) else [*leaves(base.left), base.right.commit_id]


def settled(base: Numbers, ours: Numbers, theirs: Numbers) -> Numbers:
    """Apply the rule to many rows."""
    same = (ours == theirs) & (ours != CLASH)
    only_ours = (base == theirs) & (base != CLASH)
    only_theirs = (base == ours) & (base != CLASH)
    chosen = np.where(same | only_ours, ours, np.where(only_theirs, theirs, CLASH))
    return chosen.astype(np.int32)


def valued(
    base: Base,
    value: Callable[[str], Numbers],
    rows: int,
    below: Callable[[str], Numbers] | None = None,
) -> Numbers:
    """Give the values of rows in a base, from those in commits.

    ``below`` gives them for what the commits of a base come from. Nothing keeps that: where it is
    gone, it clashes.
    """
    if isinstance(base, Leaf):
        return value(base.commit_id)
    if isinstance(base, Nowhere):
        return np.full(rows, CLASH, np.int32)
    left, right = valued(base.left, value, rows, below), value(base.right.commit_id)
    if ((left == right) & (left != CLASH)).all():
        return right
    return settled(valued(base.base, below or value, rows, below), left, right)


def settled_one(base: Any, ours: Any, theirs: Any, clash: Any) -> Any:
    """Apply the rule to one thing of any kind."""
    if ours == theirs and ours is not clash:
        return ours
    if base is not clash and base == theirs:
        return ours
    if base is not clash and base == ours:
        return theirs
    return clash


def valued_one(
    base: Base,
    value: Callable[[str], Any],
    clash: Any,
    below: Callable[[str], Any] | None = None,
) -> Any:
    """Give one thing of any kind in a base, from that in commits; ``below`` as above."""
    if isinstance(base, Leaf):
        return value(base.commit_id)
    if isinstance(base, Nowhere):
        return clash
    left, right = valued_one(base.left, value, clash, below), value(base.right.commit_id)
    if left is not clash and left == right:
        return left
    deeper = valued_one(base.base, below or value, clash, below)
    return settled_one(deeper, left, right, clash)
