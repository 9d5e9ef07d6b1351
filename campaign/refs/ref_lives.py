"""The lives of one ref: each begins with a create, goes from write to write, may end with a delete.

Because a write names the write that it replaces, a life is a chain, and nothing has to be guessed.
Invariant: linear in the number of calls. Whatever does not fit into a chain is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import define, field

from campaign.refs.ref_journal import ABSENT, RefAction, RefCall
from omnigraph_testing.histories._anomaly_report import Anomaly, AnomalyKind
from omnigraph_testing.histories._history_model import Outcome

__all__ = ["Life", "Lives", "find_lives", "ref_anomaly"]


@define
class Life:
    """Writes in order, each with the calls that saw it, and the calls that ended it."""

    steps: list[tuple[RefCall, list[RefCall]]] = field(factory=list)
    end: RefCall | None = None
    perhaps_ended: int | None = None

    def groups(self) -> Iterator[list[RefCall]]:
        """Yield the calls in groups that must follow each other."""
        for write, seen_by in self.steps:
            yield [write]
            yield seen_by
        if self.end:
            yield [self.end]


@define
class Lives:
    """Everything known of one ref."""

    lives: list[Life] = field(factory=list)
    absences: list[RefCall] = field(factory=list)
    anomalies: list[Anomaly] = field(factory=list)


def ref_anomaly(kind: AnomalyKind, detail: str, *calls: RefCall) -> Anomaly:
    """Make an anomaly that shows the calls in full."""
    ids = tuple(call.id for call in calls)
    scene = tuple(map(str, calls))
    return Anomaly(kind, ids, key=calls[0].name, detail=detail, scene=scene)


def find_lives(calls: Sequence[RefCall]) -> Lives:
    """Follow the chains of one ref."""
    result = Lives()
    writers = {call.wrote: call for call in calls if call.wrote}
    observers: dict[str, list[RefCall]] = {}
    for call in calls:
        _note_observation(call, observers, result)
    witnesses = _witnesses(calls, observers, writers)
    for write, witness in witnesses.items():
        result.anomalies += _strange(writers.get(write), write, witness)
    happened = [
        call
        for call in calls
        if call.wrote in witnesses
        or (call.outcome is Outcome.OK and call.action is not RefAction.GET)
    ]
    successors = _successors(happened, result)
    maybe = _by_expected(
        call for call in calls if call.outcome is Outcome.UNKNOWN and call.wrote not in witnesses
    )
    reached: set[int] = set()
    for call in happened:
        if call.action is RefAction.CREATE:
            result.lives.append(_follow(call, successors, observers, maybe, reached))
    for call in successors.values() if not result.anomalies else ():
        if call.id not in reached:
            detail = f"T{call.id} replaced {call.expected}, which no chain of writes leads to."
            result.anomalies.append(ref_anomaly(AnomalyKind.CIRCULAR_INFORMATION, detail, call))
            break
    return result


def _note_observation(call: RefCall, observers: dict[str, list[RefCall]], result: Lives) -> None:
    if call.outcome is Outcome.UNKNOWN or call.found is None:
        return
    if call.outcome is Outcome.OK and call.action is not RefAction.GET:
        return
    wanted = ABSENT if call.action is RefAction.CREATE else call.expected
    if call.outcome is Outcome.FAILED and call.found == wanted:
        detail = f"T{call.id} was refused, though it found what it had expected."
        result.anomalies.append(ref_anomaly(AnomalyKind.INTERNAL, detail, call))
    if call.found == ABSENT:
        result.absences.append(call)
    else:
        observers.setdefault(call.found, []).append(call)


def _witnesses(
    calls: Sequence[RefCall],
    observers: dict[str, list[RefCall]],
    writers: dict[str, RefCall],
) -> dict[str, RefCall]:
    """Map every write that certainly happened to somebody who met it, though nobody vouched."""
    witnesses = {write: seen_by[0] for write, seen_by in observers.items()}
    for call in calls:
        if call.outcome is Outcome.OK and call.expected:
            witnesses.setdefault(call.expected, call)
    waiting = list(witnesses)
    while waiting:
        writer = writers.get(waiting.pop())
        if writer and writer.expected and writer.expected not in witnesses:
            witnesses[writer.expected] = writer
            waiting.append(writer.expected)
    return witnesses


def _strange(writer: RefCall | None, write: str, witness: RefCall) -> Iterator[Anomaly]:
    if writer is None:
        detail = f"T{witness.id} met write {write}, which nobody made."
        yield ref_anomaly(AnomalyKind.UNEXPLAINED_ELEMENT, detail, witness)
    elif writer.outcome is Outcome.FAILED:
        detail = f"T{writer.id} is known to have failed, yet T{witness.id} met its write."
        yield ref_anomaly(AnomalyKind.ABORTED_READ, detail, witness, writer)


def _successors(happened: Sequence[RefCall], result: Lives) -> dict[str, RefCall]:
    successors: dict[str, RefCall] = {}
    for call in happened:
        if call.expected:
            first = successors.setdefault(call.expected, call)
            if first is not call:
                detail = (
                    f"T{first.id} and T{call.id} both took the location of write {call.expected}."
                )
                result.anomalies.append(ref_anomaly(AnomalyKind.LOST_UPDATE, detail, first, call))
    return successors


def _by_expected(calls: Iterable[RefCall]) -> dict[str, list[RefCall]]:
    found: dict[str, list[RefCall]] = {}
    for call in calls:
        if call.expected:
            found.setdefault(call.expected, []).append(call)
    return found


def _follow(
    create: RefCall,
    successors: dict[str, RefCall],
    observers: dict[str, list[RefCall]],
    maybe: dict[str, list[RefCall]],
    reached: set[int],
) -> Life:
    life = Life()
    call: RefCall | None = create
    while call is not None:
        reached.add(call.id)
        if call.wrote is None:
            life.end = call
            return life
        life.steps.append((call, observers.get(call.wrote, [])))
        call = successors.get(call.wrote)
    life.perhaps_ended = _perhaps_ended(life.steps[-1][0].wrote or "", maybe)
    return life


def _perhaps_ended(write: str, maybe: dict[str, list[RefCall]]) -> int | None:
    """Find the earliest time from which calls without an answer may have ended the life."""
    best: int | None = None
    waiting = [(write, 0)]
    while waiting:
        standing, since = waiting.pop()
        for call in maybe.get(standing, ()):
            moment = max(since, call.invoked)
            if call.wrote:
                waiting.append((call.wrote, moment))
            elif best is None or moment < best:
                best = moment
    return best
