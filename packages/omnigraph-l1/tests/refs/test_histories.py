"""What processes and threads were told of refs has an order, whatever was killed or lost.

Nothing is counted here: each call is recorded with its beginning and its end, and ``check_refs``
decides whether one ref that does one thing at a time could have answered so.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from campaign.refs import RefCall, check_refs, read_ref_journals
from omnigraph_l1 import JsonRefs, Storage
from omnigraph_testing import (
    Answer,
    AtMoment,
    Crash,
    CutReply,
    CutRequest,
    Effect,
    FaultyS3,
    IgnoreConditions,
    Rule,
    S3Store,
    Twice,
)
from omnigraph_testing.histories import AnomalyKind, Outcome

from ._recorded import RecordedRefs, judged

NAME = "contended/ref"


def change(location: str, options: dict[str, str], journals: str, who: str, changes: int) -> None:
    """Change the ref so many times, unless killed before."""
    recorded = opened(location, options, journals, who)
    for number in range(changes):
        recorded.change(number)
    recorded.read()


def change_until_beaten(
    location: str, options: dict[str, str], journals: str, who: str, changes: int
) -> None:
    """Change the ref so many times, and go on until somebody was once in the way."""
    recorded = opened(location, options, journals, who)
    outcomes = [recorded.change(number) for number in range(changes)]
    while Outcome.FAILED not in outcomes and len(outcomes) < 100 * changes:
        outcomes.append(recorded.change(len(outcomes)))
    recorded.read()


def opened(location: str, options: dict[str, str], journals: str, who: str) -> RecordedRefs:
    """Open the refs of a location."""
    refs = JsonRefs.open(Storage.resolve(location, options), "_refs", durability="none")
    return RecordedRefs(refs, NAME, journals, who)


def compete(
    crash: Crash, location: str, options: dict[str, str], journals: Path, *, changes: int
) -> list[RefCall]:
    """Let three processes change the ref at once; one is killed again and again meanwhile."""
    stop = threading.Event()
    work = partial(crash.run, deadline=300)

    def killed_again_and_again() -> int:
        times = 0
        while times < 2 or not stop.is_set():
            kill = AtMoment(times, within=0.4)
            crash.run(change, location, options, str(journals), f"dying-{times}", 10**6, kill=kill)
            times += 1
        return times

    with ThreadPoolExecutor(3) as pool:
        dying = pool.submit(killed_again_and_again)
        living = [
            pool.submit(work, change_until_beaten, location, options, str(journals), who, changes)
            for who in ("one", "other")
        ]
        try:
            assert all(each.result().finished for each in living)
        finally:
            stop.set()
        dying.result()
    return judged(journals)


@pytest.mark.parametrize("where", ["local", "s3"])
def test_processes_that_compete_and_are_killed(
    omnigraph_crash: Crash, tmp_path: Path, s3_store: S3Store, where: str
) -> None:
    """Two processes work, others die in the middle of it: what all were told has an order."""
    location, options = str(tmp_path / "repo"), {}
    if where == "s3":
        location, options = s3_store.uri(), s3_store.storage_options
    journals = tmp_path / "journals"
    journals.mkdir()
    calls = compete(
        omnigraph_crash, location, options, journals, changes=400 if where == "local" else 60
    )
    outcomes = Counter(call.outcome for call in calls)
    assert outcomes[Outcome.OK] > 100
    assert outcomes[Outcome.FAILED] > 0, "nobody was in anybody's way"
    assert any(call.process.startswith("dying") for call in calls)


@pytest.mark.parametrize(
    "effects",
    [
        (CutReply(), CutReply(by="close"), CutRequest()),
        (Twice("second"), Answer(500, applied=True), Answer(503)),
        (Answer(412), Answer(409), Answer(500)),
    ],
    ids=["cut", "doubled", "untrue"],
)
def test_writers_whose_replies_are_lost(
    faulty_s3: FaultyS3, tmp_path: Path, effects: tuple[Effect, ...]
) -> None:
    """Half of the writes meet a fault: what four writers were told has an order all the same."""
    rules = [faulty_s3.inject(Rule(each, "PUT", probability=0.2)) for each in effects]

    def work(who: str) -> None:
        change(faulty_s3.uri(), faulty_s3.storage_options, str(tmp_path), who, 15)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [f"w{number}" for number in range(4)]))
    assert min(rule.fired for rule in rules) > 0
    calls = judged(tmp_path)
    assert sum(call.outcome is Outcome.OK for call in calls) > 40


def test_writes_that_arrive_late(faulty_s3: FaultyS3, tmp_path: Path) -> None:
    """Requests that their client gave up on land at some later moment: there is an order still."""
    draw = random.Random(1)
    held = [faulty_s3.hold("PUT", nth=nth, cut=True) for nth in draw.sample(range(2, 40), 8)]
    waiting = list(held)
    refs = JsonRefs.open(Storage.resolve(faulty_s3.uri(), faulty_s3.storage_options), "_refs")
    recorded = RecordedRefs(refs, NAME, tmp_path, "writer")
    for number in range(40):
        recorded.change(number)
        if number % 5 == 4:
            waiting.pop(draw.randrange(len(waiting))).release()
    assert faulty_s3.wait_until_idle()
    assert all(each.operations for each in held)
    recorded.read()
    judged(tmp_path)


def test_a_store_without_conditions_is_found_out(faulty_s3: FaultyS3, tmp_path: Path) -> None:
    """The judge can say no: where conditions are ignored, writes are lost, and it names one."""
    faulty_s3.inject(Rule(IgnoreConditions(), "PUT"))
    refs = JsonRefs.open(Storage.resolve(faulty_s3.uri(), faulty_s3.storage_options), "_refs")
    one, other = (RecordedRefs(refs, NAME, tmp_path, who) for who in ("one", "other"))
    one.create({})
    ref = one.read()
    assert ref is not None
    assert other.replace(ref, {"by": "other"}) is Outcome.OK
    assert one.replace(ref, {"by": "one"}) is Outcome.OK
    report = check_refs(read_ref_journals(tmp_path))
    assert AnomalyKind.LOST_UPDATE in report.kinds
