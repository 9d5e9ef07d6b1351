"""The checker against one that tries every order, and against histories that are made good."""

from __future__ import annotations

import random
from collections import Counter

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_testing.errors import InvalidHistory
from omnigraph_testing.histories import Append, History, Outcome, Read, Transaction, check
from omnigraph_testing.strategies import histories

from ._brute import has_serial_order

EXACT = settings(max_examples=150, derandomize=True, deadline=None, database=None)
GUARANTEES = ((True, True), (False, True), (False, False))


@EXACT
@given(histories(max_transactions=30))
def test_good_histories_are_accepted(good: History) -> None:
    """Whatever a serial store showed to processes that overlapped is accepted."""
    report = check(good)
    assert report.ok, str(report)


@EXACT
@given(histories(max_transactions=5, max_length=3), st.randoms(use_true_random=False))
def test_mutated_histories_are_judged_as_by_brute_force(
    good: History, chance: random.Random
) -> None:
    """A history with a changed read, a lost append or a changed time is refused, unless the change
    does no harm; the brute-force search says which.
    """
    mutant = mutate(good, chance)
    for real_time, sessions in GUARANTEES:
        report = check(mutant, real_time=real_time, sessions=sessions)
        expected = has_serial_order(mutant, real_time=real_time, sessions=sessions)
        assert report.ok is expected, str(report)


def test_random_histories_are_judged_as_by_brute_force() -> None:
    """The same for 1,500 histories of stores that are wrong in one way or another, from a seed;
    both verdicts are common among them.
    """
    chance = random.Random(20240807)
    verdicts: Counter[bool] = Counter()
    for _ in range(1_500):
        history = play(chance)
        for real_time, sessions in GUARANTEES:
            report = check(history, real_time=real_time, sessions=sessions)
            expected = has_serial_order(history, real_time=real_time, sessions=sessions)
            assert report.ok is expected, f"{history}\n{report}"
            verdicts[expected] += 1
    assert min(verdicts[True], verdicts[False]) > 400


def mutate(good: History, chance: random.Random) -> History:
    """Change one thing, if there is one to change; give the history back as it was if not."""
    transactions = list(good.transactions)
    if not transactions:
        return good
    place = chance.randrange(len(transactions))
    one = transactions[place]
    ops = list(one.ops)
    reads = [at for at, op in enumerate(ops) if isinstance(op, Read) and op.value]
    way = chance.choice(["drop", "swap", "stale", "time", "lose", "fail"])
    if way in ("drop", "swap", "stale") and reads:
        at = chance.choice(reads)
        value = list(ops[at].value)
        if way == "drop":
            value.pop(chance.randrange(len(value)))
        elif way == "swap":
            value.append(value.pop(0))
        else:
            del value[chance.randrange(len(value)) :]
        ops[at] = Read(ops[at].key, tuple(value))
        transactions[place] = attrs.evolve(one, ops=tuple(ops))
    elif way == "time":
        shift = chance.randint(-30, 30)
        moved = attrs.evolve(
            one, invoked=one.invoked + shift, completed=(one.completed or 0) + shift, process="q"
        )
        transactions[place] = moved
    elif way == "lose":
        transactions[place] = attrs.evolve(
            one, ops=tuple(op for op in ops if not isinstance(op, Append))
        )
    elif way == "fail":
        unread = tuple(Read(op.key) if isinstance(op, Read) else op for op in ops)
        transactions[place] = attrs.evolve(one, ops=unread, outcome=Outcome.FAILED)
    return History(transactions)


def play(chance: random.Random) -> History:
    """Run up to five transactions on a store that may show old states and garble reads."""
    while True:
        try:
            return History(_play(chance))
        except InvalidHistory:
            continue  # two acts of one process overlapped


def _play(chance: random.Random) -> list[Transaction]:
    keys = "xy"[: chance.randint(1, 2)]
    stale, garbled = chance.choice([(0, 0), (0.3, 0), (0, 0.2), (0.2, 0.1)])
    scattered = chance.random() < 0.3
    states: list[dict[str, tuple[int, ...]]] = [dict.fromkeys(keys, ())]
    made, element = {key: [9] for key in keys}, 9
    transactions = []
    for number in range(1, chance.randint(1, 5) + 1):
        outcome = chance.choices(list(Outcome), [8, 1, 2])[0]
        lands = outcome is Outcome.OK or (outcome is Outcome.UNKNOWN and chance.random() < 0.5)
        lands = lands or (outcome is Outcome.FAILED and chance.random() < garbled)
        now = dict(states[-1])
        view = dict(chance.choice(states) if chance.random() < stale else now)
        ops: list[Append | Read] = []
        for _ in range(chance.randint(1, 3)):
            key = chance.choice(keys)
            if chance.random() < 0.5:
                element += 1
                made[key].append(element)
                now[key] += (element,)
                view[key] += (element,)
                ops.append(Append(key, element))
            elif outcome is not Outcome.OK:
                ops.append(Read(key))
            elif chance.random() < garbled:
                ops.append(Read(key, tuple(chance.choices(made[key], k=chance.randint(0, 3)))))
            else:
                ops.append(Read(key, view[key]))
        if lands:
            states.append(now)
        invoked = chance.randint(0, 20) if scattered else 4 * number + chance.randint(-6, 2)
        transactions.append(
            Transaction(
                number,
                tuple(ops),
                outcome=outcome,
                process=f"p{chance.randint(0, 3)}",
                invoked=invoked,
                completed=invoked + chance.randint(0, 8),
            )
        )
    return transactions
