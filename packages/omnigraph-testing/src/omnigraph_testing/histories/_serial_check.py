"""Does a history have a serial order that explains every observation? If not, why not.

The method is that of Elle's list-append test: the elements of a list show in which order they
were appended, so every read says which transactions came before its own and which came after.
Invariant: sound (what is reported cannot be serial) and complete (what is not reported is serial,
and strictly so if ``real_time``). A transaction whose outcome is unknown counts as committed if
anybody saw it; otherwise it may be left out. Nothing here recurses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from omnigraph_testing.histories._anomaly_report import Anomaly, AnomalyKind, Relation, Report
from omnigraph_testing.histories._dependency_graph import (
    add_processes,
    add_real_time,
    add_versions,
    group_by_writer,
)
from omnigraph_testing.histories._element_order import Versions, infer_versions
from omnigraph_testing.histories._explanation import Narrator
from omnigraph_testing.histories._history_model import Append, Element, History, Key, Outcome
from omnigraph_testing.histories._observations import observe
from omnigraph_testing.histories._order_graph import Graph, components
from omnigraph_testing.histories._smallest_cycle import smallest_cycle
from omnigraph_testing.histories._torn_reads import (
    aborted_reads,
    intermediate_reads,
    own_future_reads,
    reordered_appends,
    vanished_appends,
)

__all__ = ["check"]

_LISTED = 10
_WITHIN_ONE = (AnomalyKind.INTERMEDIATE_READ, AnomalyKind.PHANTOM, AnomalyKind.INTERNAL)
_SEVERITY = {kind: place for place, kind in enumerate(AnomalyKind)}


def check(history: History, *, real_time: bool = True, sessions: bool = True) -> Report:
    """Look for a serial order of the history.

    ``real_time``: a transaction that was answered comes before all that were sent later (strict
    serializability). ``sessions``: each process sees its own acts in order, which real time
    implies. With neither, any order will do that explains the reads.
    """
    observations, anomalies = observe(history)
    writers = _writers(history)
    versions: dict[Key, Versions] = {}
    for key, seen in observations.items():
        versions[key], found = infer_versions(history, key, seen, writers.get(key, {}))
        anomalies += found
    committed = _committed(history, versions, writers)
    graph = Graph(len(history))
    for key, known in versions.items():
        by_element = writers.get(key, {})
        appended = group_by_writer(by_element, committed)
        anomalies += aborted_reads(history, known, by_element)
        anomalies += intermediate_reads(history, known, appended)
        anomalies += own_future_reads(history, known, appended)
        anomalies += reordered_appends(history, known, appended)
        lost: set[Element] = set()
        for elements, anomaly in vanished_appends(history, known, appended) if real_time else ():
            lost.update(elements)
            anomalies.append(anomaly)
        add_versions(graph, known, by_element, committed, told=lost)
    if sessions:
        add_processes(graph, history, committed)
    if real_time:
        add_real_time(graph, history, committed)
    narrator = Narrator(history, versions, observations)
    cycles, groups = _cycles(graph, committed, narrator)
    anomalies += [one for one in cycles if not _told(one, anomalies)]
    listed = list(_listed(anomalies))
    return Report(
        _guarantee(real_time=real_time, sessions=sessions),
        tuple(sorted(listed, key=lambda one: _SEVERITY[one.kind])),
        checked=_checked(history, committed),
        unlisted=len(anomalies) - len(listed) + groups,
    )


def _writers(history: History) -> dict[Key, dict[Element, int]]:
    writers: dict[Key, dict[Element, int]] = {}
    for number, transaction in enumerate(history.transactions):
        for op in transaction.ops:
            if isinstance(op, Append):
                writers.setdefault(op.key, {})[op.element] = number
    return writers


def _committed(
    history: History, versions: dict[Key, Versions], writers: dict[Key, dict[Element, int]]
) -> set[int]:
    """Find what certainly took effect: acknowledged, or unknown and seen by a read."""
    committed = {
        number
        for number, transaction in enumerate(history.transactions)
        if transaction.outcome is Outcome.OK
    }
    for key, known in versions.items():
        of_key = writers.get(key, {})
        for element in known.first_readers():
            writer = of_key.get(element)
            if writer is not None and history.transactions[writer].outcome is Outcome.UNKNOWN:
                committed.add(writer)
    return committed


def _cycles(
    graph: Graph, committed: Iterable[int], narrator: Narrator
) -> tuple[list[Anomaly], int]:
    """Find, from the simplest kind of argument to the fullest, the smallest cycle of each group.

    A group that was reported already is reported again only if the fuller argument needs fewer
    transactions. The number is that of the groups left out.
    """
    entangled = [node for group in components(graph, committed) for node in group]
    found: list[tuple[set[int], Anomaly]] = []
    left_out, groups_left_out = set[int](), 0
    for most in Relation if entangled else ():
        allowed = tuple(relation for relation in Relation if relation <= most)
        layer = graph.restrict(entangled, allowed)
        new = 0
        for group in components(layer, entangled):
            members = set(group)
            inside = [len(nodes) for nodes, _ in found if nodes <= members]
            if not inside and not left_out.isdisjoint(members):
                continue
            if new >= _LISTED:
                groups_left_out += not inside
                left_out |= members
                continue
            small = layer.restrict(group, allowed)
            cycle = smallest_cycle(small, group)
            if cycle and len(cycle.nodes) < min(inside, default=len(group) + 1):
                anomaly = narrator.tell(small, cycle.nodes, smallest=cycle.proven)
                found.append((set(cycle.nodes), anomaly))
                new += 1
    return [anomaly for _, anomaly in found], groups_left_out


def _told(cycle: Anomaly, anomalies: list[Anomaly]) -> bool:
    """Whether reading key by key has found the same: a part was seen, or two reads differ."""
    if cycle.kind is not AnomalyKind.INTERMEDIATE_READ:
        return False
    return any(
        anomaly.kind in _WITHIN_ONE and not set(anomaly.ids) - set(cycle.ids)
        for anomaly in anomalies
    )


def _listed(anomalies: Iterable[Anomaly]) -> Iterator[Anomaly]:
    counts: dict[AnomalyKind, int] = {}
    for anomaly in anomalies:
        counts[anomaly.kind] = counts.get(anomaly.kind, 0) + 1
        if counts[anomaly.kind] <= _LISTED:
            yield anomaly


def _guarantee(*, real_time: bool, sessions: bool) -> str:
    if real_time:
        return "strictly serializable"
    return "serializable within sessions" if sessions else "serializable"


def _checked(history: History, committed: set[int]) -> str:
    unknown = history.count(Outcome.UNKNOWN)
    seen = len(committed) - history.count(Outcome.OK)
    notes = Counter(
        one.note for one in history.transactions if one.outcome is Outcome.UNKNOWN and one.note
    )
    mostly = "".join(f"; {count} of them: {note}" for note, count in notes.most_common(1))
    return (
        f"{len(history)} transactions with {history.operations} operations "
        f"({history.count(Outcome.OK)} ok, {history.count(Outcome.FAILED)} failed, {unknown} "
        f"unknown of which {seen} were seen{mostly})"
    )
