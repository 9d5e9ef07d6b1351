"""What was run of the rules, and what cannot be.

Always: the tests compare. Whatever is not told here as not run has been run: each ordered pair of
operations, and each condition of each rule, fulfilled and not fulfilled by each of its facts.
"""

from __future__ import annotations

from typing import Final

import attrs

from omnigraph_l1._conflicts.facts import Fact
from omnigraph_l1._kinds import TransactionKind as Kind

__all__ = ["BY_HAND", "NOT_RUN", "RUN", "NotRun"]

RUN: Final = (696, 45)
"""How many meetings were run, of how many operations."""

BY_HAND: Final = (Kind.UPDATE_MEM_WAL_STATE, Kind.RESERVE_FRAGMENTS)
"""Theirs that no call of pylance commits alone: the record of a harmless commit was changed."""


@attrs.frozen
class NotRun:
    """Pairs that cannot be run, or a condition that cannot be brought about with a pair.

    Of a condition, ``fact`` is the one that cannot be otherwise, or None where the condition
    itself cannot be fulfilled.
    """

    ours: tuple[Kind, ...]
    theirs: tuple[Kind, ...]
    reason: str = attrs.field(kw_only=True)
    condition: str = attrs.field(kw_only=True, default="")
    """Which condition, by the facts that it needs; empty where the pair cannot be run at all."""
    fact: Fact | None = attrs.field(kw_only=True, default=None)


_EVERY: Final = tuple(Kind)
_FOLLOWS: Final = "without a fragment in common no rows are the same"

NOT_RUN: Final[tuple[NotRun, ...]] = (
    NotRun(
        (Kind.CLONE,), _EVERY,
        reason="a Clone is refused wherever there is a dataset, whatever came first",
    ),
    NotRun(
        tuple(kind for kind in Kind if kind is not Kind.CLONE), (Kind.CLONE,),
        reason="a Clone is the first version of its dataset: nothing is computed on one before",
    ),
    NotRun(
        (Kind.UPDATE_MEM_WAL_STATE,),
        tuple(kind for kind in Kind if kind is not Kind.CLONE),
        reason="no call of pylance commits it, so that it can be theirs only, written by hand",
    ),
    NotRun(
        (Kind.DELETE, Kind.UPDATE), (Kind.DELETE, Kind.UPDATE),
        condition="overlap, same_rows", fact=Fact.OVERLAP, reason=_FOLLOWS,
    ),
    NotRun(
        (Kind.DELETE,), (Kind.MERGE,),
        condition="overlap", fact=Fact.OVERLAP, reason="a Merge lists all fragments of the table",
    ),
    NotRun(
        (Kind.OVERWRITE,), (Kind.UPDATE_CONFIG,),
        condition="same_key", reason="no call of pylance lets an Overwrite set configuration",
    ),
)  # fmt: skip
