"""Reads that show what no serial order of whole transactions could show, reported key by key.

Aborted reads, intermediate reads, a transaction that reads its own future, one whose appends took
effect in another order than it made them, and appends that were acknowledged and vanished.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from omnigraph_testing.histories._anomaly_report import Anomaly, AnomalyKind
from omnigraph_testing.histories._element_order import Versions
from omnigraph_testing.histories._history_model import Element, History, Outcome, show_key
from omnigraph_testing.histories._plain_words import describe, show_list, show_span

__all__ = [
    "aborted_reads",
    "intermediate_reads",
    "own_future_reads",
    "reordered_appends",
    "vanished_appends",
]


def aborted_reads(
    history: History, versions: Versions, writers: Mapping[Element, int]
) -> Iterator[Anomaly]:
    """Report each transaction that failed and was seen all the same."""
    told: set[int] = set()
    for element, reader in versions.first_readers().items():
        writer = writers.get(element)
        if writer is None or writer in told:
            continue
        failed, read = history.transactions[writer], history.transactions[reader]
        if failed.outcome is Outcome.FAILED:
            told.add(writer)
            yield Anomaly(
                AnomalyKind.ABORTED_READ,
                (read.id, failed.id),
                key=versions.key,
                detail=f"T{read.id} read {element!r} of {show_key(versions.key)}, which "
                f"T{failed.id} had appended. T{failed.id} is known to have failed.",
                scene=(describe(read, (versions.key,)), describe(failed, (versions.key,))),
            )


def intermediate_reads(
    history: History, versions: Versions, appended: Mapping[int, list[Element]]
) -> Iterator[Anomaly]:
    """Report each transaction of which some read shows a part of what it appended to the key.

    ``appended`` has the committed transactions alone, each with its elements.
    """
    position = {element: place for place, element in enumerate(versions.trace)}
    lengths = [length for length, _ in versions.prefixes]
    for writer, elements in appended.items():
        places = [position.get(element, len(versions.trace)) for element in elements]
        low, high = bisect_right(lengths, min(places)), bisect_right(lengths, max(places))
        for length, reader in versions.prefixes[low:high]:
            if reader != writer:
                whole, read = history.transactions[writer], history.transactions[reader]
                yield Anomaly(
                    AnomalyKind.INTERMEDIATE_READ,
                    (read.id, whole.id),
                    key=versions.key,
                    detail=f"T{read.id} read {show_list(versions.trace[:length])} of "
                    f"{show_key(versions.key)}, which is a part of what T{whole.id} appended: "
                    f"{show_list(elements)}.",
                    scene=(describe(read, (versions.key,)), describe(whole, (versions.key,))),
                )
                break


def own_future_reads(
    history: History, versions: Versions, appended: Mapping[int, list[Element]]
) -> Iterator[Anomaly]:
    """Report each transaction that read its own append before it made it, or made it twice."""
    position = {element: place for place, element in enumerate(versions.trace)}
    lengths = [length for length, _ in versions.prefixes]
    first_place = {
        writer: min(position[element] for element in elements if element in position)
        for writer, elements in appended.items()
        if any(element in position for element in elements)
    }
    start = bisect_left(lengths, min(first_place.values(), default=0) + 1)
    for length, reader in versions.prefixes[start:]:
        place = first_place.get(reader)
        if place is not None and place < length:
            del first_place[reader]
            transaction = history.transactions[reader]
            yield Anomaly(
                AnomalyKind.INTERNAL,
                (transaction.id,),
                key=versions.key,
                detail=f"T{transaction.id} found {versions.trace[place]!r} in "
                f"{show_key(versions.key)} before it appended it, or found it twice.",
                scene=(describe(transaction, (versions.key,)),),
            )


def reordered_appends(
    history: History, versions: Versions, appended: Mapping[int, list[Element]]
) -> Iterator[Anomaly]:
    """Report each transaction whose elements a read shows in another order than it gave them."""
    position = {element: place for place, element in enumerate(versions.trace)}
    for writer, elements in appended.items():
        places = [position.get(element, len(versions.trace)) for element in elements]
        if places != sorted(places):
            transaction = history.transactions[writer]
            reader = history.transactions[versions.shown_by]
            yield Anomaly(
                AnomalyKind.INCOMPATIBLE_ORDER,
                (transaction.id, reader.id),
                key=versions.key,
                detail=f"T{transaction.id} appended {show_list(elements)} to "
                f"{show_key(versions.key)} in this order, but T{reader.id} read "
                f"{show_list(versions.trace)}.",
                scene=(describe(transaction, (versions.key,)), describe(reader, (versions.key,))),
            )


def vanished_appends(
    history: History, versions: Versions, appended: Mapping[int, list[Element]]
) -> Iterator[tuple[list[Element], Anomaly]]:
    """Find appends that were acknowledged before a read began, and that no read ever showed."""
    readers = [reader for _, reader in versions.prefixes]
    readers += [stray.reader for stray in versions.strays]
    reads = [history.transactions[reader] for reader in readers]
    last = max(reads, key=lambda read: read.invoked)
    shown = versions.first_readers()
    for writer, elements in appended.items():
        transaction = history.transactions[writer]
        lost = [element for element in elements if element not in shown]
        if not lost or transaction.ended is None or transaction.ended >= last.invoked:
            continue
        gap = show_span(last.invoked - transaction.ended)
        keys = (versions.key,)
        yield (
            lost,
            Anomaly(
                AnomalyKind.LOST_UPDATE,
                (transaction.id, last.id),
                key=versions.key,
                detail=f"T{transaction.id} was told that {show_list(lost)} is in "
                f"{show_key(versions.key)}. T{last.id} was sent {gap} later and did not find it. "
                "Nobody ever saw it.",
                scene=(describe(transaction, keys), describe(last, keys)),
            ),
        )
