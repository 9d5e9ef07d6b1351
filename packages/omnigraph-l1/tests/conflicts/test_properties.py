"""What holds for all pairs of operations and all facts.

White-box: the facts on which a pair depends are read from the private table of rules, a pure
module, so that every answer to each of them can be tried.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import product
from typing import Any, cast

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1 import ConflictFacts, Resolution, TransactionKind, conflict
from omnigraph_l1._conflict_matrix import RULES, Fact, rules_between
from omnigraph_l1.errors import InvalidName

# Written down once more, and not taken from the code.
BADNESS = [
    Resolution.COMPATIBLE,
    Resolution.REBASABLE,
    Resolution.RETRYABLE,
    Resolution.INCOMPATIBLE,
]
ANSWERS = (True, False, None)
PAIRS = list(product(TransactionKind, TransactionKind))
KINDS = st.sampled_from(TransactionKind)
FACTS = st.builds(
    ConflictFacts, **{fact.value: st.sampled_from(ANSWERS) for fact in Fact}
)  # fmt: skip


def _named_facts(ours: TransactionKind, theirs: TransactionKind) -> list[str]:
    clauses = [clause for rule in rules_between(ours, theirs) for clause in rule.when]
    named = {fact for clause in clauses for fact in clause.needs + clause.excludes}
    return sorted(fact.value for fact in named)


def _completions(names: list[str], known: dict[str, bool | None]) -> Iterator[ConflictFacts]:
    choices = [(True, False) if known[name] is None else (known[name],) for name in names]
    for chosen in product(*choices):
        yield ConflictFacts(**dict(zip(names, chosen, strict=True)))


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_the_unknown_is_the_worst_of_what_is_possible(
    ours: TransactionKind, theirs: TransactionKind
) -> None:
    """With some facts unknown the outcome is the worst that any completion gives: never better,
    and not worse than needed. Tried for every answer to every fact that the pair depends on.
    """
    names = _named_facts(ours, theirs)
    for answers in product(ANSWERS, repeat=len(names)):
        known = dict(zip(names, answers, strict=True))
        possible = [conflict(ours, theirs, one) for one in _completions(names, known)]
        worst = max(possible, key=BADNESS.index)
        assert conflict(ours, theirs, ConflictFacts(**known)) is worst, known


@given(ours=KINDS, theirs=KINDS, facts=FACTS, fact=st.sampled_from(Fact), answer=st.booleans())
def test_knowing_more_never_makes_it_worse(
    *,
    ours: TransactionKind,
    theirs: TransactionKind,
    facts: ConflictFacts,
    fact: Fact,
    answer: bool,
) -> None:
    """Answering a question that was open gives the same outcome or a better one."""
    if facts.answer(fact) is not None:
        facts = attrs.evolve(facts, **{fact.value: None})
    more = attrs.evolve(facts, **{fact.value: answer})
    before, after = conflict(ours, theirs, facts), conflict(ours, theirs, more)
    assert BADNESS.index(after) <= BADNESS.index(before)


@given(KINDS, KINDS, FACTS)
def test_there_is_an_answer_to_everything(
    ours: TransactionKind, theirs: TransactionKind, facts: ConflictFacts
) -> None:
    """Every pair and all facts have one outcome, the same each time, however they got here."""
    outcome = conflict(ours, theirs, facts)
    assert outcome in BADNESS
    assert conflict(*pickle.loads(pickle.dumps((ours, theirs, facts)))) is outcome


@given(KINDS, KINDS, FACTS)
def test_a_pair_that_is_not_listed_is_compatible(
    ours: TransactionKind, theirs: TransactionKind, facts: ConflictFacts
) -> None:
    """Whatever the facts are."""
    if not any(rule.ours is ours and theirs in rule.theirs for rule in RULES):
        assert conflict(ours, theirs, facts) is Resolution.COMPATIBLE


@given(KINDS, KINDS, FACTS)
def test_only_facts_that_a_rule_names_count(
    ours: TransactionKind, theirs: TransactionKind, facts: ConflictFacts
) -> None:
    """Other facts change nothing."""
    names = _named_facts(ours, theirs)
    kept = ConflictFacts(**{name: getattr(facts, name) for name in names})
    assert conflict(ours, theirs, kept) is conflict(ours, theirs, facts)


def test_nothing_is_known_by_default() -> None:
    """Facts that are left out are unknown, all or some, and can be given by their location."""
    ours, theirs = TransactionKind.DELETE, TransactionKind.REWRITE
    assert conflict(ours, theirs) is conflict(ours, theirs, ConflictFacts())
    assert conflict(ours, theirs, facts=ConflictFacts(overlap=None)) is Resolution.RETRYABLE
    assert set(attrs.asdict(ConflictFacts()).values()) == {None}


def test_names_and_attributes_of_facts_are_the_same() -> None:
    """Each fact of the rules is an attribute that users set, and the other way round."""
    assert [fact.value for fact in Fact] == [one.name for one in attrs.fields(ConflictFacts)]
    assert all(fact.question for fact in Fact)


def test_a_rule_says_something() -> None:
    """No row says that two are compatible, none has two contradicting parts, none stands twice."""
    assert all(rule.then is not Resolution.COMPATIBLE for rule in RULES)
    for clause in (clause for rule in RULES for clause in rule.when):
        named = clause.needs + clause.excludes
        assert len(named) == len(set(named))
    rows = [(rule.ours, one, rule.when, rule.then) for rule in RULES for one in rule.theirs]
    assert len(rows) == len(set(rows))


def test_facts_are_frozen_values() -> None:
    """Equal facts are equal and hash alike; they cannot be changed."""
    facts = ConflictFacts(overlap=True)
    assert {facts, ConflictFacts(overlap=True)} == {facts}
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        facts.overlap = False  # type: ignore[misc]


@pytest.mark.parametrize("value", [0, 1, "no", ""])
def test_a_fact_is_true_false_or_none(value: object) -> None:
    """What merely looks like an answer is refused, and never read as one."""
    with pytest.raises(TypeError, match="overlap"):
        ConflictFacts(overlap=cast("bool", value))


@pytest.mark.parametrize("pair", [("Append", TransactionKind.DELETE), (TransactionKind.DELETE, 3)])
def test_what_is_no_kind_is_refused(pair: Any) -> None:
    """A name or a number in the place of a kind is no unlisted pair: it is an error of ours."""
    with pytest.raises(InvalidName, match=r"'(Append|3)': .* TransactionKind.APPEND"):
        conflict(*pair)
