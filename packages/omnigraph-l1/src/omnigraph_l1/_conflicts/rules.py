"""Lance's transaction specification as one table: which operation conflicts with which, and when.

Always: a row speaks of ours, which is about to commit, against theirs, which has committed since
the version that ours was computed on. A pair that no row names is compatible. Where several rows
hold, the worst outcome counts. Conditions are data: ``evaluating`` reads them, ``report`` prints
them. Where pylance does otherwise, that stands in ``deviations``, never here.
"""

from __future__ import annotations

from typing import Final

import attrs

from omnigraph_l1._conflicts.facts import Fact
from omnigraph_l1._kinds import TransactionKind as Kind
from omnigraph_l1._resolution import Resolution

__all__ = ["ALWAYS", "RULES", "Clause", "Condition", "Rule"]


@attrs.frozen(kw_only=True)
class Clause:
    """Facts that must all be so: those of ``needs`` true, those of ``excludes`` false."""

    needs: tuple[Fact, ...] = ()
    excludes: tuple[Fact, ...] = ()


Condition = tuple[Clause, ...]
"""It holds where one of its clauses does."""


@attrs.frozen
class Rule:
    """One row: how ours fares against each of theirs, where the condition holds."""

    ours: Kind
    theirs: tuple[Kind, ...]
    when: Condition = attrs.field(kw_only=True)
    then: Resolution = attrs.field(kw_only=True)


def _all(*needs: Fact, but_not: tuple[Fact, ...] = ()) -> Condition:
    return (Clause(needs=needs, excludes=but_not),)


ALWAYS: Final = _all()

_OVERLAP = _all(Fact.OVERLAP)
_SAME_ROWS = _all(Fact.OVERLAP, Fact.SAME_ROWS)
_SAME_KEY = _all(Fact.SAME_KEY)
_BOTH_REUSE = _all(Fact.OUR_REUSE_INDEX, Fact.THEIR_REUSE_INDEX)

_REBASABLE = Resolution.REBASABLE
_RETRYABLE = Resolution.RETRYABLE
_INCOMPATIBLE = Resolution.INCOMPATIBLE

_REPLACED = (Kind.OVERWRITE, Kind.RESTORE)
_REPLACED_OR_LOGGED = (*_REPLACED, Kind.UPDATE_MEM_WAL_STATE)
_ROWS_CHANGED = (Kind.DELETE, Kind.UPDATE)

RULES: Final[tuple[Rule, ...]] = (
    Rule(Kind.APPEND, _REPLACED_OR_LOGGED, when=ALWAYS, then=_INCOMPATIBLE),

    Rule(Kind.DELETE, _REPLACED_OR_LOGGED, when=ALWAYS, then=_INCOMPATIBLE),
    Rule(Kind.DELETE, (Kind.MERGE, Kind.REWRITE, Kind.DATA_REPLACEMENT),
         when=_OVERLAP, then=_RETRYABLE),
    Rule(Kind.DELETE, _ROWS_CHANGED, when=_SAME_ROWS, then=_RETRYABLE),
    Rule(Kind.DELETE, _ROWS_CHANGED, when=ALWAYS, then=_REBASABLE),

    Rule(Kind.OVERWRITE, (Kind.OVERWRITE, Kind.UPDATE_MEM_WAL_STATE),
         when=ALWAYS, then=_RETRYABLE),
    Rule(Kind.OVERWRITE, (Kind.UPDATE_CONFIG,), when=_SAME_KEY, then=_RETRYABLE),

    Rule(Kind.CREATE_INDEX, _REPLACED_OR_LOGGED, when=ALWAYS, then=_INCOMPATIBLE),
    Rule(Kind.CREATE_INDEX, (Kind.REWRITE,), then=_RETRYABLE,
         when=_all(Fact.OVERLAP, but_not=(Fact.STABLE_ROW_IDS, Fact.THEIR_REUSE_INDEX))),
    Rule(Kind.CREATE_INDEX, (Kind.DATA_REPLACEMENT,),
         when=_all(Fact.OVERLAP, Fact.INDEXED_FIELD), then=_RETRYABLE),
    Rule(Kind.CREATE_INDEX, (Kind.CREATE_INDEX,),
         when=_all(Fact.SAME_INDEX), then=_REBASABLE),

    Rule(Kind.REWRITE, _REPLACED, when=ALWAYS, then=_INCOMPATIBLE),
    Rule(Kind.REWRITE, (Kind.MERGE,), when=ALWAYS, then=_RETRYABLE),
    Rule(Kind.REWRITE, (Kind.DATA_REPLACEMENT, *_ROWS_CHANGED), when=_OVERLAP, then=_RETRYABLE),
    Rule(Kind.REWRITE, (Kind.REWRITE,), when=_OVERLAP + _BOTH_REUSE, then=_RETRYABLE),
    Rule(Kind.REWRITE, (Kind.CREATE_INDEX,), then=_RETRYABLE,
         when=_all(Fact.OVERLAP, but_not=(Fact.STABLE_ROW_IDS, Fact.OUR_REUSE_INDEX))),
    Rule(Kind.REWRITE, (Kind.CREATE_INDEX,), when=_BOTH_REUSE, then=_REBASABLE),

    Rule(Kind.MERGE, (*_REPLACED_OR_LOGGED, Kind.PROJECT), when=ALWAYS, then=_INCOMPATIBLE),
    Rule(Kind.MERGE, (Kind.APPEND, *_ROWS_CHANGED, Kind.MERGE, Kind.REWRITE,
                      Kind.DATA_REPLACEMENT), when=ALWAYS, then=_RETRYABLE),

    Rule(Kind.PROJECT, _REPLACED_OR_LOGGED, when=ALWAYS, then=_INCOMPATIBLE),
    Rule(Kind.PROJECT, (Kind.PROJECT, Kind.MERGE), when=ALWAYS, then=_RETRYABLE),

    Rule(Kind.RESTORE, (Kind.UPDATE_MEM_WAL_STATE,), when=ALWAYS, then=_INCOMPATIBLE),

    Rule(Kind.RESERVE_FRAGMENTS, _REPLACED, when=ALWAYS, then=_INCOMPATIBLE),

    Rule(Kind.UPDATE, _REPLACED, when=ALWAYS, then=_INCOMPATIBLE),
    Rule(Kind.UPDATE, (Kind.MERGE,), when=ALWAYS, then=_RETRYABLE),
    Rule(Kind.UPDATE, (Kind.REWRITE, Kind.DATA_REPLACEMENT), when=_OVERLAP, then=_RETRYABLE),
    Rule(Kind.UPDATE, _ROWS_CHANGED, when=_SAME_ROWS, then=_RETRYABLE),
    Rule(Kind.UPDATE, (Kind.UPDATE,), when=_SAME_KEY, then=_RETRYABLE),
    Rule(Kind.UPDATE, _ROWS_CHANGED, when=ALWAYS, then=_REBASABLE),

    Rule(Kind.UPDATE_CONFIG, (Kind.OVERWRITE,), when=ALWAYS, then=_INCOMPATIBLE),
    Rule(Kind.UPDATE_CONFIG, (Kind.UPDATE_CONFIG,), when=_SAME_KEY, then=_INCOMPATIBLE),

    Rule(Kind.DATA_REPLACEMENT, _REPLACED_OR_LOGGED, when=ALWAYS, then=_INCOMPATIBLE),
    Rule(Kind.DATA_REPLACEMENT, (Kind.MERGE,), when=ALWAYS, then=_RETRYABLE),
    Rule(Kind.DATA_REPLACEMENT, (Kind.REWRITE, Kind.UPDATE), when=_OVERLAP, then=_RETRYABLE),
    Rule(Kind.DATA_REPLACEMENT, (Kind.DATA_REPLACEMENT,),
         when=_all(Fact.OVERLAP, Fact.SAME_FIELD), then=_RETRYABLE),
    Rule(Kind.DATA_REPLACEMENT, (Kind.CREATE_INDEX,),
         when=_all(Fact.INDEXED_FIELD), then=_RETRYABLE),

    Rule(Kind.UPDATE_BASES, (Kind.UPDATE_BASES,),
         when=_all(Fact.SAME_BASE), then=_INCOMPATIBLE),
)  # fmt: skip
