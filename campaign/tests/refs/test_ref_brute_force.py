"""The checker of ref calls agrees with a search over all orders."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations

from campaign.refs import ABSENT, RefAction, RefCall, check_refs
from omnigraph_testing.histories import Outcome


def test_random_ref_calls_are_judged_as_by_brute_force() -> None:
    """The checker of refs agrees with the search over all orders, from a seed, 3,000 times."""
    chance = random.Random(20240808)
    verdicts: Counter[bool] = Counter()
    for _ in range(3_000):
        calls = call_refs(chance)
        report = check_refs(calls)
        expected = is_linearizable(calls)
        assert report.ok is expected, "\n".join(map(str, [*calls, report]))
        verdicts[expected] += 1
    assert min(verdicts.values()) > 400


def call_refs(chance: random.Random) -> list[RefCall]:
    """Make up to six calls to one ref of a store that may show old states and lie."""
    wrong = chance.choice([0, 0, 0.1, 0.3])
    scattered = chance.choice([0.1, 0.5, 1.0])
    held, past, calls = ABSENT, [ABSENT], []
    for number in range(1, chance.randint(1, 6) + 1):
        action = chance.choice(list(RefAction))
        seen = held if chance.random() > wrong else chance.choice(past)
        compares = action in (RefAction.REPLACE, RefAction.DELETE)
        known = [held] if held and chance.random() < 0.7 else [*filter(None, past), "zz"]
        expected = chance.choice(known) if compares else None
        wrote = f"w{number}" if action in (RefAction.CREATE, RefAction.REPLACE) else None
        found, outcome = None, Outcome.UNKNOWN
        fits = seen == (expected or ABSENT)
        if action is RefAction.GET:
            found, outcome = seen, Outcome.OK
        elif chance.random() < 0.8:
            outcome = Outcome.OK if fits else Outcome.FAILED
            if chance.random() < wrong / 3:
                outcome = chance.choice([Outcome.OK, Outcome.FAILED])
            if outcome is Outcome.FAILED and chance.random() < 0.8:
                found = seen
        if action is not RefAction.GET and fits:
            if outcome is not Outcome.UNKNOWN or chance.random() < 0.5:
                held = wrote or ABSENT
            past.append(wrote or ABSENT)
        invoked = 4 * number + chance.randint(-6, 2)
        if chance.random() < scattered:
            invoked = chance.randint(0, 20)
        calls.append(
            RefCall(
                number,
                "ref",
                action=action,
                outcome=outcome,
                process=f"p{number}",
                invoked=invoked,
                completed=invoked + chance.randint(0, 8),
                wrote=wrote,
                expected=expected,
                found=found,
            )
        )
    return calls


def is_linearizable(calls: Sequence[RefCall]) -> bool:
    """Say whether any order of the calls on one ref fits their answers and their times."""
    sure = [call for call in calls if call.outcome is not Outcome.UNKNOWN and _telling(call)]
    perhaps = [
        call
        for call in calls
        if call.outcome is Outcome.UNKNOWN and call.action is not RefAction.GET
    ]
    return any(
        _fits_time(order) and _fits_answers(order)
        for count in range(len(perhaps) + 1)
        for chosen in combinations(perhaps, count)
        for order in permutations([*sure, *chosen])
    )


def _telling(call: RefCall) -> bool:
    return call.outcome is Outcome.OK or call.found is not None


def _fits_time(order: tuple[RefCall, ...]) -> bool:
    return not any(
        late.outcome is not Outcome.UNKNOWN
        and late.completed is not None
        and late.completed < early.invoked
        for location, late in enumerate(order)
        for early in order[:location]
    )


def _fits_answers(order: tuple[RefCall, ...]) -> bool:
    held = ABSENT
    for call in order:
        wanted = ABSENT if call.action is RefAction.CREATE else call.expected
        if call.action is RefAction.GET:
            if call.found != held:
                return False
        elif call.outcome is Outcome.FAILED:
            if call.found != held or held == wanted:
                return False
        elif held != wanted:
            return False
        else:
            held = call.wrote or ABSENT
    return True
