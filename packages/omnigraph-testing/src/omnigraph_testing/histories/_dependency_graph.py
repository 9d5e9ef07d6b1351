"""The graph of what must come before what: versions of each key, processes, time.

Invariant: every link follows from the observations alone, so a cycle proves that no serial order
exists; and without a cycle (and without a direct anomaly) there is one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping

from omnigraph_testing.histories._anomaly_report import Relation
from omnigraph_testing.histories._element_order import Versions
from omnigraph_testing.histories._history_model import Element, History
from omnigraph_testing.histories._order_graph import Graph

__all__ = ["add_processes", "add_real_time", "add_versions", "group_by_writer"]


def group_by_writer(
    writers: Mapping[Element, int], committed: set[int]
) -> dict[int, list[Element]]:
    """Return for each committed writer of a key its elements, in the order of its appends."""
    appended: dict[int, list[Element]] = {}
    for element, writer in writers.items():
        if writer in committed:
            appended.setdefault(writer, []).append(element)
    return appended


def add_versions(
    graph: Graph,
    versions: Versions,
    writers: Mapping[Element, int],
    committed: set[int],
    told: Collection[Element] = (),
) -> None:
    """Link the writers and readers of one key. Appends that were ``told`` to be lost stay out."""
    places, targets = [], []
    first_place: dict[int, int] = {}
    for place, element in enumerate(versions.trace):
        writer = writers.get(element)
        if writer in committed:
            places.append(place)
            targets.append(writer)
            first_place.setdefault(writer, place)
    shown = versions.first_readers()
    later = dict.fromkeys(
        writer
        for element, writer in writers.items()
        if writer in committed and element not in shown and element not in told
    )
    lengths = [length for length, _ in versions.prefixes]
    written = graph.add_chain(targets, versions.key)
    unseen = graph.add_chain(list(later), versions.key)
    readers = graph.add_chain([reader for _, reader in versions.prefixes], versions.key)
    for writer, place in first_place.items():
        graph.link(writer, written, bisect_right(places, place), Relation.WRITE_WRITE)
        graph.link(writer, unseen, 0, Relation.WRITE_WRITE)
        graph.link(writer, readers, bisect_right(lengths, place), Relation.WRITE_READ)
    done: set[int] = set()
    for length, reader in versions.prefixes:
        if reader not in done:
            done.add(reader)
            graph.link(reader, written, bisect_left(places, length), Relation.READ_WRITE)
            graph.link(reader, unseen, 0, Relation.READ_WRITE)


def add_processes(graph: Graph, history: History, committed: Iterable[int]) -> None:
    """Link what each process did, one thing after the other."""
    acts: dict[str, list[int]] = {}
    for number in _by_invocation(history, committed):
        acts.setdefault(history.transactions[number].process, []).append(number)
    for numbers in acts.values():
        chain = graph.add_chain(numbers)
        began = [history.transactions[number].began for number in numbers]
        for number, moment in zip(numbers, began, strict=True):
            if history.transactions[number].ended is not None:
                graph.link(number, chain, bisect_right(began, moment), Relation.PROCESS)


def add_real_time(graph: Graph, history: History, committed: Iterable[int]) -> None:
    """Link what was answered to everything that was sent later."""
    numbers = _by_invocation(history, committed)
    invoked = [history.transactions[number].invoked for number in numbers]
    chain = graph.add_chain(numbers)
    for number in numbers:
        ended = history.transactions[number].ended
        if ended is not None:
            graph.link(number, chain, bisect_right(invoked, ended), Relation.REAL_TIME)


def _by_invocation(history: History, committed: Iterable[int]) -> list[int]:
    return sorted(committed, key=lambda number: history.transactions[number].began)
