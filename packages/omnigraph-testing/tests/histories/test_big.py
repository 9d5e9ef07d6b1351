"""Big histories: judged in seconds, good and bad ones alike."""

from __future__ import annotations

import random
import time
from itertools import count

from omnigraph_testing.histories import Append, History, MicroOp, Read, Transaction, check

PROCESSES, KEYS, LENGTH, EACH_KEYS = 8, 8, 4, 200


def make(transactions: int, *, stale_every: int = 0) -> History:
    """Play transactions one after the other that overlap in time; some read the day before."""
    chance = random.Random(7)
    free = [0] * PROCESSES
    plans = []
    for _ in range(transactions):
        process = min(range(PROCESSES), key=free.__getitem__)
        invoked = free[process] + chance.randint(1, 50)
        completed = invoked + chance.randint(10, 1_000)
        free[process] = completed + 1
        plans.append((chance.randint(invoked, completed), invoked, completed, process))
    store: dict[str, tuple[int, ...]] = {}
    elements = count(1)
    found = []
    for number, (_, invoked, completed, process) in enumerate(sorted(plans), start=1):
        ops: list[MicroOp] = []
        stale = bool(stale_every) and number % stale_every == 0
        for _ in range(LENGTH):
            key = f"k{chance.randrange(KEYS)}/{number // EACH_KEYS}"
            held = store.get(key, ())
            if chance.random() < 0.5 and not stale:
                element = next(elements)
                store[key] = (*held, element)
                ops.append(Append(key, element))
            else:
                ops.append(Read(key, held[:-9] if stale else held))
        times = {"invoked": invoked, "completed": completed}
        found.append(Transaction(number, tuple(ops), process=f"w{process}", **times))
    return History(found)


def test_a_hundred_thousand_good_operations() -> None:
    """100,000 operations of 8 processes are accepted within a minute on one core."""
    history = make(25_000)
    assert history.operations == 100_000
    began = time.process_time()
    report = check(history)
    took = time.process_time() - began
    assert report.ok, str(report)[:2_000]
    assert took < 60


def test_a_big_bad_history_is_told_briefly() -> None:
    """Stale reads all over 20,000 operations give a report of a few small cycles, soon."""
    began = time.process_time()
    report = check(make(5_000, stale_every=20))
    assert time.process_time() - began < 60
    assert not report.ok
    assert len(str(report)) < 100_000
    assert min(len(one.cycle) for one in report.anomalies if one.cycle) == 2
