"""Which pairs of operations and which conditions of the rules a set of meetings covers.

White-box: the conditions are those of the private table of rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from omnigraph_l1 import TransactionKind
from omnigraph_l1._conflict_matrix import ALWAYS, Clause, Fact, rules_between

from .meetings import Meeting

Pair = tuple[TransactionKind, TransactionKind]
Want = tuple[TransactionKind, TransactionKind, str, Fact | None]
"""A pair, the facts of a condition, and the one that is otherwise; no fact: all are so."""


def clauses(pair: Pair) -> Iterator[Clause]:
    """Return the conditions of a pair's rules."""
    for rule in rules_between(*pair):
        if rule.when != ALWAYS:
            yield from rule.when


def named(clause: Clause) -> str:
    """Write a condition down."""
    return ", ".join(
        [fact.value for fact in clause.needs] + [f"not {fact.value}" for fact in clause.excludes]
    )


def wanted() -> set[Want]:
    """Return all that should be covered: each condition fulfilled, and failing by each fact."""
    return {
        (*pair, named(clause), fact)
        for pair in product(TransactionKind, TransactionKind)
        for clause in clauses(pair)
        for fact in (None, *clause.needs, *clause.excludes)
    }


def covered(meetings: Iterable[Meeting]) -> tuple[set[Pair], set[Want]]:
    """Return what these meetings cover. A compaction counts as its second commit, the Rewrite."""
    pairs, conditions = set(), set()
    for meeting in meetings:
        pair = meeting.pairs[-1]
        pairs.add(pair)
        for clause in clauses(pair):
            wrong = [fact for fact in clause.needs if not meeting.facts.answer(fact)]
            wrong += [fact for fact in clause.excludes if meeting.facts.answer(fact)]
            if len(wrong) <= 1:
                conditions.add((*pair, named(clause), wrong[0] if wrong else None))
    return pairs, conditions
