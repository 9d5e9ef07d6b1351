"""Lance's transaction specification as a table of rules, and the answer for two transactions.

A rule is about ours, which is about to commit, against theirs, which has committed since the
version that ours was computed on. A pair that no rule names is compatible, because the
specification lists for each operation all that it conflicts with. For UpdateMemWalState it lists
nothing; that is never compatible. If several rules hold, the worst outcome counts. Where pylance
differs from the specification is not in this table. Users ask it; when a commit is written, Lance
itself decides, and ``_lance.lance_failures`` recognises what it answers.

Invariant: pure, and total over all operations and facts. A fact has three answers, the third being
unknown. An unknown fact is read both ways, so no answer is better than one that knowing more gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from itertools import product
from types import MappingProxyType
from typing import Final

import attrs

from omnigraph_l1._transaction_kinds import Resolution
from omnigraph_l1._transaction_kinds import TransactionKind as Kind
from omnigraph_l1.errors import InvalidName

__all__ = [
    "ALWAYS",
    "NOTHING_KNOWN",
    "RULES",
    "Clause",
    "Condition",
    "ConflictFacts",
    "Fact",
    "Rule",
    "conflict",
    "rules_between",
]


class Fact(Enum):
    """The name of a fact. Its value is the attribute of ``ConflictFacts`` that answers it."""

    OVERLAP = "overlap"
    SAME_ROWS = "same_rows"
    SAME_KEY = "same_key"
    SAME_FIELD = "same_field"
    INDEXED_FIELD = "indexed_field"
    STABLE_ROW_IDS = "stable_row_ids"
    OUR_REUSE_INDEX = "our_reuse_index"
    THEIR_REUSE_INDEX = "their_reuse_index"
    SAME_INDEX = "same_index"
    SAME_BASE = "same_base"

    @property
    def question(self) -> str:
        """What is asked."""
        return _QUESTIONS[self]


_QUESTIONS: Final = {
    Fact.OVERLAP: (
        "Is there a fragment that both change? A Rewrite changes those that it replaces, a "
        "CreateIndex those that it covers, a Merge all. Without overlap no rows are the same."
    ),
    Fact.SAME_ROWS: "Is there a row that both delete or change?",
    Fact.SAME_KEY: (
        "Do both set one key of the configuration or metadata, or do both insert a row of one "
        "primary key (merge-inserts on the annotated key column)?"
    ),
    Fact.SAME_FIELD: "Is there a field whose data both replace?",
    Fact.INDEXED_FIELD: "Does the index cover a field whose data are replaced?",
    Fact.STABLE_ROW_IDS: "Has the dataset stable row ids?",
    Fact.OUR_REUSE_INDEX: (
        "Does ours bring a fragment-reuse index? A Rewrite carries one where it leaves the other "
        "indexes for later; a CreateIndex may be the one that writes it."
    ),
    Fact.THEIR_REUSE_INDEX: "Does theirs bring a fragment-reuse index?",
    Fact.SAME_INDEX: (
        "Do both write the same singleton index, the fragment-reuse index or that of the "
        "write-ahead log? Two plain indexes of one name are not meant."
    ),
    Fact.SAME_BASE: "Do both add a base of the same id, name or path?",
}


def _answer() -> bool | None:
    checked: bool | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.instance_of(bool))
    )
    return checked


@attrs.frozen(kw_only=True)
class ConflictFacts:
    """What is known of two operations that meet: True, False, or None for unknown.

    Leave out what you do not know or what does not matter. ``conflict`` then answers with the
    worse of the outcomes that are still possible.
    """

    overlap: bool | None = _answer()
    """Both change a fragment in common. Without overlap no rows are the same."""
    same_rows: bool | None = _answer()
    """Both delete or change a row in common."""
    same_key: bool | None = _answer()
    """Both set one key of the configuration or metadata, or insert a row of one primary key."""
    same_field: bool | None = _answer()
    """Both replace the data of a field in common."""
    indexed_field: bool | None = _answer()
    """The index covers a field whose data are replaced."""
    stable_row_ids: bool | None = _answer()
    """The dataset has stable row ids."""
    our_reuse_index: bool | None = _answer()
    """Ours carries a fragment-reuse index (a Rewrite) or writes it (a CreateIndex)."""
    their_reuse_index: bool | None = _answer()
    """Theirs carries a fragment-reuse index (a Rewrite) or writes it (a CreateIndex)."""
    same_index: bool | None = _answer()
    """Both write the same singleton index; two plain indexes of one name are not meant."""
    same_base: bool | None = _answer()
    """Both add a base of the same id, name or path."""

    def answer(self, fact: Fact) -> bool | None:
        """Return what is known of ``fact``."""
        known: bool | None = getattr(self, fact.value)
        return known


NOTHING_KNOWN: Final = ConflictFacts()


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

    # Ours: the specification does not say what it conflicts with, and no answer is not a yes.
    Rule(Kind.UPDATE_MEM_WAL_STATE, tuple(Kind), when=ALWAYS, then=_INCOMPATIBLE),

    Rule(Kind.UPDATE_BASES, (Kind.UPDATE_BASES,),
         when=_all(Fact.SAME_BASE), then=_INCOMPATIBLE),
)  # fmt: skip


_BADNESS: Final = {
    Resolution.COMPATIBLE: 0,
    Resolution.REBASABLE: 1,
    Resolution.RETRYABLE: 2,
    Resolution.INCOMPATIBLE: 3,
}

_PAIRS: Final[Mapping[tuple[Kind, Kind], tuple[Rule, ...]]] = MappingProxyType(
    {
        (ours, theirs): tuple(rule for rule in RULES if rule.ours is ours and theirs in rule.theirs)
        for ours, theirs in product(Kind, Kind)
    }
)


def conflict(ours: Kind, theirs: Kind, facts: ConflictFacts = NOTHING_KNOWN) -> Resolution:
    """Return the outcome of ours if theirs was committed first, by Lance's specification.

    ``ours`` is about to commit; ``theirs`` has committed since the version that ours was computed
    on. The order matters: an Append is refused over an Overwrite, not the other way round.

    >>> conflict(TransactionKind.DELETE, TransactionKind.REWRITE).name
    'RETRYABLE'
    >>> apart = ConflictFacts(overlap=False)
    >>> conflict(TransactionKind.DELETE, TransactionKind.REWRITE, apart).name
    'COMPATIBLE'

    What ``facts`` leaves unknown gives the worse of the outcomes that are still possible. A pair
    that the specification does not list is compatible, except for ours being UpdateMemWalState, of
    which it lists nothing. pylance deviates in a few places;
    docs/lance-transactions.md has the whole table, and each deviation that was seen.
    """
    outcomes = [
        rule.then
        for rule in rules_between(ours, theirs)
        if any(_may_hold(clause, facts) for clause in rule.when)
    ]
    return max(outcomes, key=_BADNESS.__getitem__, default=Resolution.COMPATIBLE)


def rules_between(ours: Kind, theirs: Kind) -> tuple[Rule, ...]:
    """Return the rows of the table that speak of this pair."""
    try:
        return _PAIRS[ours, theirs]
    except KeyError:
        wrong = next(kind for kind in (ours, theirs) if kind not in tuple(Kind))
        rule = "give a member of TransactionKind, such as TransactionKind.APPEND"
        raise InvalidName(what="transaction kind", name=str(wrong), rule=rule) from None


def _may_hold(clause: Clause, facts: ConflictFacts) -> bool:
    # Exact, not an estimate: a clause names each fact once, so no two of its parts can exclude
    # each other.
    return not (
        any(facts.answer(fact) is False for fact in clause.needs)
        or any(facts.answer(fact) is True for fact in clause.excludes)
    )
