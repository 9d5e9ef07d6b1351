"""Rules and the engine, without any store: operations in, decisions out."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_testing import (
    Answer,
    Bandwidth,
    CutReply,
    Decision,
    Delay,
    Effect,
    EndlessPredicate,
    Faults,
    Held,
    Hold,
    IgnoreConditions,
    InvalidOption,
    NothingHeld,
    Operation,
    Refuse,
    Rule,
    StaleListing,
    TruncateReply,
    TruncateRequest,
    Twice,
)


def put(key: str = "k") -> Operation:
    """Return a PUT under a condition."""
    return Operation("PUT", key, size=7, condition="if-none-match: *")


def carried_out(faults: Faults, operation: Operation) -> Decision:
    """Decide, and let all that was decided act."""
    decision = faults.decide(operation)
    for effect in (*decision.modifiers, decision.verdict):
        if effect is not None:
            decision.mark_acted(effect)
    decision.close()
    return decision


def firing(rule: Rule, operations: Iterable[Operation]) -> list[int]:
    """Return the numbers (from 1) of the operations that the rule's effect meets."""
    faults = Faults()
    faults.inject(rule)
    return [n for n, each in enumerate(operations, 1) if carried_out(faults, each)]


def test_a_rule_without_limits_meets_everything() -> None:
    """Only the effect is needed."""
    assert firing(Rule(CutReply()), [put(), Operation("GET", "x")]) == [1, 2]


@pytest.mark.parametrize(
    ("pattern", "key", "met"),
    [
        ("t.lance/_versions/*", "t.lance/_versions/1.manifest", True),
        ("t.lance/_versions/*", "t.lance/data/1.lance", False),
        ("*.manifest", "a/b/c.manifest", True),
        ("*/[0-9].json", "refs/7.json", True),
        ("*/[0-9].json", "refs/x.json", False),
        ("T*", "t", False),
        ("Ü ?", "Ü x", True),
    ],
)
def test_key_patterns_cross_slashes_and_mind_case(*, pattern: str, key: str, met: bool) -> None:
    """A key pattern is a glob over the whole key."""
    assert Rule(Refuse(), key=pattern).matches(put(key)) is met


def test_a_method_is_what_a_request_means() -> None:
    """A listing is not met by GET, though that is its verb; one of several methods is enough."""
    listing = Operation("LIST", "k/", verb="GET")
    assert Rule(Refuse(), "list").matches(listing)
    assert not Rule(Refuse(), "GET").matches(listing)
    assert Rule(Refuse(), ["GET", "PUT"]).matches(put())


def test_a_predicate_has_the_last_word() -> None:
    """It sees the operation."""
    rule = Rule(Refuse(), predicate=lambda operation: operation.size == 7)
    assert rule.matches(Operation("PUT", "k", size=7))
    assert not rule.matches(Operation("PUT", "k", size=8))


@pytest.mark.parametrize(
    ("rule", "met"),
    [
        (Rule(Refuse(), nth=2), [2]),
        (Rule(Refuse(), nth=[1, 4]), [1, 4]),
        (Rule(Refuse(), every=3), [3, 6]),
        (Rule(Refuse(), after=4), [5, 6]),
        (Rule(Refuse(), after=1, every=2), [3, 5]),
        (Rule(Refuse(), times=2), [1, 2]),
        (Rule(Refuse(), every=2, times=2), [2, 4]),
        (Rule(Refuse(), probability=0.0), []),
    ],
)
def test_schedules(rule: Rule, met: list[int]) -> None:
    """The schedule counts matches from one."""
    assert firing(rule, [put() for _ in range(6)]) == met


def test_only_matches_are_counted() -> None:
    """The second PUT is the second PUT, whatever comes between."""
    operations = [put(), Operation("GET", "k"), put()]
    assert firing(Rule(Refuse(), "PUT", nth=2), operations) == [3]


@given(seed=st.integers(), probability=st.floats(0, 1))
def test_chance_is_repeatable(seed: int, probability: float) -> None:
    """The same seed gives the same faults, every time."""
    rule = Rule(Refuse(), probability=probability, seed=seed)
    operations = [put() for _ in range(50)]
    assert firing(rule, operations) == firing(rule, operations)


def test_chance_is_about_right_and_differs_by_seed() -> None:
    """A fifth is about a fifth, and another seed picks others."""
    operations = [put() for _ in range(2000)]
    one = firing(Rule(Refuse(), probability=0.2, seed=1), operations)
    other = firing(Rule(Refuse(), probability=0.2, seed=2), operations)
    assert 340 < len(one) < 460
    assert one != other


def drawn(faults: Faults, rules: Iterable[Rule], operations: int = 2000) -> list[list[int]]:
    """Return for each rule the numbers of the operations that it fired at."""
    injected = [faults.inject(rule) for rule in rules]
    met: list[list[int]] = [[] for _ in injected]
    for number in range(operations):
        before = [each.fired for each in injected]
        carried_out(faults, put())
        for numbers, one, old in zip(met, injected, before, strict=True):
            numbers.extend([number] * (one.fired - old))
    return met


def test_random_rules_of_one_seed_draw_independently() -> None:
    """Each has half of the operations, and both together a quarter: not the very same half."""
    delays = [Rule(Delay(0), probability=0.5), Rule(Delay(1), probability=0.5)]
    one, other = (set(numbers) for numbers in drawn(Faults(), delays))
    assert 900 < len(one) < 1100
    assert 900 < len(other) < 1100
    assert 420 < len(one & other) < 580


def test_what_a_random_rule_draws_depends_on_its_place_alone() -> None:
    """Rules that were removed keep their places; after ``clear`` all begins as it began."""
    rules = [Rule(Delay(n), probability=0.5) for n in range(3)]
    faults = Faults()
    first = drawn(faults, rules, 100)
    faults.clear()
    assert drawn(faults, rules, 100) == first
    faults.clear()
    faults.inject(Rule(Refuse())).remove()
    assert drawn(faults, rules, 100)[:2] == first[1:]


@pytest.mark.parametrize(
    ("effect", "operation", "acts"),
    [
        (StaleListing(), Operation("LIST", "k/", verb="GET"), True),
        (StaleListing(), Operation("GET", "k"), False),
        (StaleListing(), put(), False),
        (IgnoreConditions(), put(), True),
        (IgnoreConditions(), Operation("PUT", "k"), False),
        (TruncateRequest(6), put(), True),
        (TruncateRequest(7), put(), False),
        (TruncateRequest(8, silent=True), put(), False),
        (TruncateRequest(0), Operation("GET", "k", size=0), False),
        (TruncateRequest(1), Operation("PUT", "k"), True),  # of unknown size
        (TruncateReply(0), put(), True),
        (Bandwidth(1), put(), True),
        (Twice(), put(), True),
    ],
    ids=str,
)
def test_an_effect_that_cannot_act_stands_aside(
    *, effect: Effect, operation: Operation, acts: bool
) -> None:
    """Its rule has matched and not fired; its ``times`` are left, and another verdict counts."""
    faults = Faults()
    rule = faults.inject(Rule(effect, times=1))
    behind = faults.inject(Rule(CutReply()))
    carried_out(faults, operation)
    assert (rule.matched, rule.fired) == (1, int(acts))
    assert behind.fired == (0 if acts and effect.is_verdict else 1)


def test_what_did_not_act_is_given_back() -> None:
    """It has not fired, and its ``times`` are free again; while it is under way they are not."""
    faults = Faults()
    rule = faults.inject(Rule(StaleListing(), "LIST", times=1))
    listing = Operation("LIST", "k/", verb="GET")
    first = faults.decide(listing)
    assert not faults.decide(listing)
    assert first.close() == ()
    assert rule.fired == 0
    second = faults.decide(listing)
    second.mark_acted(StaleListing())  # an equal one of another rule is not this one
    assert rule.fired == 0
    assert second.verdict is not None
    second.mark_acted(second.verdict)
    assert rule.fired == 1
    assert second.close() == second.close() == ("StaleListing",)
    assert not faults.decide(listing)
    assert (rule.fired, rule.matched) == (1, 4)


def test_a_predicate_may_ask_about_other_operations() -> None:
    """It is called while nothing is locked, also from another thread."""
    faults = Faults()
    seen: list[str] = []

    def asks(operation: Operation) -> bool:
        seen.append(operation.key)
        if operation.key == "k":
            asking = threading.Thread(target=faults.decide, args=(put("other"),), daemon=True)
            asking.start()
            asking.join(10)
            faults.decide(put("third"))
        return operation.key == "k"

    faults.inject(Rule(Refuse(), predicate=asks))
    assert faults.decide(put()).verdict == Refuse()
    assert seen == ["k", "other", "third"]


def test_a_predicate_that_asks_for_ever_is_told_so() -> None:
    """The error names the operation and says what to do; afterwards all works as before."""
    faults = Faults()
    rule = faults.inject(Rule(Refuse(), predicate=lambda each: bool(faults.decide(each))))
    with pytest.raises(EndlessPredicate, match=r"PUT k.*direct") as caught:
        faults.decide(put())
    assert caught.value.depth > 5
    rule.remove()
    faults.inject(Rule(Refuse(), predicate=lambda _: True))
    assert faults.decide(put())


@given(st.permutations([f"k{n % 5}" for n in range(25)]))
def test_per_key_does_not_depend_on_the_order_between_keys(keys: list[str]) -> None:
    """With ``per_key`` each key has the same fate however the clients interleave."""
    rule = Rule(Refuse(), probability=0.5, seed=3, per_key=True)

    def fate(order: Iterable[str]) -> dict[str, list[bool]]:
        faults = Faults()
        faults.inject(rule)
        fates: dict[str, list[bool]] = {}
        for key in order:
            fates.setdefault(key, []).append(bool(carried_out(faults, put(key))))
        return fates

    assert fate(keys) == fate(sorted(keys))


def test_per_key_counts_each_key_by_itself() -> None:
    """The first access of each key."""
    operations = [put("a"), put("a"), put("b"), put("b")]
    assert firing(Rule(Refuse(), nth=1, per_key=True), operations) == [1, 3]


def test_the_first_verdict_counts_and_modifiers_add_up() -> None:
    """Two delays and one answer can meet in a request; a second verdict is not used up."""
    faults = Faults()
    faults.inject(Rule(Delay(0.1)))
    faults.inject(Rule(Answer(503), times=1))
    second = faults.inject(Rule(CutReply(), times=1))
    faults.inject(Rule(IgnoreConditions()))
    decision = carried_out(faults, put())
    assert decision.modifiers == (Delay(0.1), IgnoreConditions())
    assert decision.verdict == Answer(503)
    assert decision.close() == ("Delay", "IgnoreConditions", "Answer")
    assert second.fired == 0
    assert second.matched == 1
    assert carried_out(faults, put()).verdict == CutReply()
    assert second.fired == 1


def test_a_removed_rule_does_nothing_and_removing_twice_does_no_harm() -> None:
    """The other rules stay."""
    faults = Faults()
    cut = faults.inject(Rule(CutReply()))
    faults.inject(Rule(Refuse()))
    cut.remove()
    cut.remove()
    assert faults.decide(put()).verdict == Refuse()
    faults.clear()
    assert not faults.decide(put())


def test_times_holds_between_threads() -> None:
    """However many threads ask, an effect that may happen 50 times happens 50 times."""
    faults = Faults()
    rule = faults.inject(Rule(Refuse(), times=50))
    met: list[int] = []

    def ask() -> None:
        met.append(sum(bool(carried_out(faults, put())) for _ in range(500)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(met) == 50
    assert (rule.fired, rule.matched) == (50, 2000)


def test_rules_are_picklable() -> None:
    """A rule can be sent to another process."""
    rule = Rule(TruncateReply(5, silent=True), "GET", key="*.lance", nth=3)
    assert pickle.loads(pickle.dumps(rule)) == rule


@pytest.mark.parametrize(
    ("make", "option"),
    [
        (lambda: Rule(Refuse(), nth=0), "Rule.nth"),
        (lambda: Rule(Refuse(), every=0), "Rule.every"),
        (lambda: Rule(Refuse(), times=0), "Rule.times"),
        (lambda: Rule(Refuse(), probability=1.5), "Rule.probability"),
        (lambda: Rule("boom"), "Rule.effect"),
        (lambda: Answer(200), "Answer.status"),
        (lambda: Delay(-1), "Delay.seconds"),
        (lambda: Delay("soon"), "Delay.seconds"),
        (lambda: Delay(1, at="never"), "Delay.at"),
        (lambda: TruncateReply(-1), "TruncateReply.keep"),
    ],
)
def test_senseless_values_are_refused_by_name(make: object, option: str) -> None:
    """A rule that cannot be meant is refused when it is made, with the field's name."""
    with pytest.raises(InvalidOption) as caught:
        make()  # type: ignore[operator]
    assert caught.value.option == option
    assert pickle.loads(pickle.dumps(caught.value)).option == option


def test_held_wakes_on_release_and_at_once_afterwards() -> None:
    """What is caught before the release is woken by it, what comes later is woken at once."""
    held = Held()
    woken: list[str] = []
    held.catch(put("a"), lambda: woken.append("a"))
    assert held.wait(1)[0].key == "a"
    assert woken == []
    held.release()
    held.catch(put("b"), lambda: woken.append("b"))
    assert woken == ["a", "b"]


def test_waiting_for_nothing_ends_with_an_error_that_counts() -> None:
    """A test that waits for a request that never comes is told so."""
    with pytest.raises(NothingHeld) as caught:
        Held().wait(0.01, count=2)
    assert (caught.value.expected, caught.value.found) == (2, 0)


def test_clearing_the_rules_releases_what_they_hold() -> None:
    """No request stays held by a rule that is gone."""
    faults, held = Faults(), Held()
    faults.inject(Rule(Hold(held)))
    faults.clear()
    assert held.is_released
