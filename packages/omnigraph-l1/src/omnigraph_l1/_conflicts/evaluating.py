"""The answer for one meeting, read from the table of rules.

Always: pure, and total over all operations and facts. An unknown fact is read both ways, so no
answer is better than one that knowing more would give.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType
from typing import Final

from omnigraph_l1._conflicts.facts import NOTHING_KNOWN, ConflictFacts
from omnigraph_l1._conflicts.rules import RULES, Clause, Rule
from omnigraph_l1._kinds import TransactionKind
from omnigraph_l1._resolution import Resolution
from omnigraph_l1.errors import InvalidName

__all__ = ["conflict", "rules_between"]

_BADNESS: Final = {
    Resolution.COMPATIBLE: 0,
    Resolution.REBASABLE: 1,
    Resolution.RETRYABLE: 2,
    Resolution.INCOMPATIBLE: 3,
}

_PAIRS: Final[Mapping[tuple[TransactionKind, TransactionKind], tuple[Rule, ...]]] = (
    MappingProxyType(
        {
            (ours, theirs): tuple(
                rule for rule in RULES if rule.ours is ours and theirs in rule.theirs
            )
            for ours, theirs in product(TransactionKind, TransactionKind)
        }
    )
)


def conflict(
    ours: TransactionKind, theirs: TransactionKind, facts: ConflictFacts = NOTHING_KNOWN
) -> Resolution:
    """Say how ours fares when theirs was committed first, by Lance's specification.

    ``ours`` is about to commit; ``theirs`` has committed since the version that ours was computed
    on. The order matters: an Append is refused over an Overwrite, not the other way round.

    >>> conflict(TransactionKind.DELETE, TransactionKind.REWRITE).name
    'RETRYABLE'
    >>> apart = ConflictFacts(overlap=False)
    >>> conflict(TransactionKind.DELETE, TransactionKind.REWRITE, apart).name
    'COMPATIBLE'

    What ``facts`` leaves unknown gives the worse of the outcomes that are still possible. A pair
    of which the specification says nothing is compatible. pylance deviates in a few places;
    docs/lance-transactions.md has the whole table, and each deviation that was seen.
    """
    outcomes = [
        rule.then
        for rule in rules_between(ours, theirs)
        if any(_may_hold(clause, facts) for clause in rule.when)
    ]
    return max(outcomes, key=_BADNESS.__getitem__, default=Resolution.COMPATIBLE)


def rules_between(ours: TransactionKind, theirs: TransactionKind) -> tuple[Rule, ...]:
    """Give the rows of the table that speak of this pair."""
    try:
        return _PAIRS[ours, theirs]
    except KeyError:
        wrong = next(kind for kind in (ours, theirs) if kind not in tuple(TransactionKind))
        rule = "give a member of TransactionKind, such as TransactionKind.APPEND"
        raise InvalidName(what="transaction kind", name=str(wrong), rule=rule) from None


def _may_hold(clause: Clause, facts: ConflictFacts) -> bool:
    # Exact, not an estimate: a clause names each fact once, so no two of its parts can exclude
    # each other.
    return not (
        any(facts.answer(fact) is False for fact in clause.needs)
        or any(facts.answer(fact) is True for fact in clause.excludes)
    )
