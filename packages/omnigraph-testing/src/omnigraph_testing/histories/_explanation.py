"""Cycles, named and described in plain sentences, each step with the observation that proves it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import frozen

from omnigraph_testing.histories._anomaly_report import Anomaly, AnomalyKind, Edge, Relation
from omnigraph_testing.histories._element_order import Versions
from omnigraph_testing.histories._history_model import (
    Append,
    Element,
    History,
    Key,
    Read,
    Transaction,
    show_key,
)
from omnigraph_testing.histories._observations import Observation
from omnigraph_testing.histories._order_graph import Graph
from omnigraph_testing.histories._plain_words import describe, show_list, show_span

__all__ = ["Narrator"]

_Reason = tuple[Relation, Key | None]
_ORDER = (Relation.PROCESS, Relation.REAL_TIME)
_PAIR = 2


@frozen
class Narrator:
    """Knows the history and the versions, and turns the nodes of a cycle into an anomaly."""

    history: History
    versions: Mapping[Key, Versions]
    observations: Mapping[Key, list[Observation]]

    def tell(self, graph: Graph, nodes: tuple[int, ...], *, smallest: bool) -> Anomaly:
        """Name the cycle through ``nodes`` and say why each step holds."""
        steps = list(zip(nodes, (*nodes[1:], nodes[0]), strict=True))
        reasons = [sorted(graph.relations(*step), key=lambda one: one[0]) for step in steps]
        chosen = [reason[0] for reason in reasons]
        kind = None
        if len(steps) == _PAIR:
            kind, chosen = _kind_of_pair(reasons, chosen)
        edges = tuple(
            self._edge(before, after, relation, key)
            for (before, after), (relation, key) in zip(steps, chosen, strict=True)
        )
        transactions = [self.history.transactions[node] for node in nodes]
        keys = dict.fromkeys(key for _, key in chosen if key is not None)
        return Anomaly(
            kind or self._kind(steps, chosen),
            tuple(transaction.id for transaction in transactions),
            key=next(iter(keys)) if len(keys) == 1 else None,
            cycle=edges,
            smallest=smallest,
            scene=tuple(describe(transaction, keys) for transaction in transactions),
        )

    def _kind(self, steps: list[tuple[int, int]], chosen: list[_Reason]) -> AnomalyKind:
        relations = [relation for relation, _ in chosen]
        missed = relations.count(Relation.READ_WRITE)
        if any(relation in _ORDER for relation in relations):
            if len(steps) == _PAIR and self._vanished(steps, chosen):
                return AnomalyKind.LOST_UPDATE
            return AnomalyKind.STALE_READ if missed == 1 else AnomalyKind.ORDER_VIOLATION
        if missed:
            return AnomalyKind.READ_SKEW if missed == 1 else AnomalyKind.WRITE_SKEW
        if Relation.WRITE_READ in relations:
            return AnomalyKind.CIRCULAR_INFORMATION
        return AnomalyKind.DIRTY_WRITE

    def _vanished(self, steps: list[tuple[int, int]], chosen: list[_Reason]) -> bool:
        """Whether a step leads to appends that no read ever saw, though they were acknowledged."""
        for (_, after), (relation, key) in zip(steps, chosen, strict=True):
            if key is not None and relation in (Relation.WRITE_WRITE, Relation.READ_WRITE):
                shown = self.versions[key].first_readers()
                writer = self.history.transactions[after]
                return not any(element in shown for element in _appended(writer, key))
        return False

    def _edge(self, before: int, after: int, relation: Relation, key: Key | None) -> Edge:
        first, second = self.history.transactions[before], self.history.transactions[after]
        if relation is Relation.REAL_TIME:
            gap = show_span(second.invoked - (first.ended or 0))
            why = f"T{first.id} was answered {gap} before T{second.id} was sent"
        elif relation is Relation.PROCESS or key is None:
            why = f"{first.process} did T{first.id} before it did T{second.id}"
        elif relation is Relation.WRITE_WRITE:
            why = self._written_before(first, second, key)
        elif relation is Relation.WRITE_READ:
            why = self._read_of(before, after, key)
        else:
            why = self._missed(before, after, key)
        return Edge(first.id, second.id, relation=relation, key=key, why=why)

    def _written_before(self, first: Transaction, second: Transaction, key: Key) -> str:
        versions = self.versions[key]
        shown = f"{show_list(versions.trace)} of {show_key(key)}"
        reader = self.history.transactions[versions.shown_by].id
        early = min(_places(first, versions))
        element = versions.trace[early]
        follow = [place for place in _places(second, versions) if place > early]
        if follow:
            return (
                f"T{reader} read {shown}, where {element!r} of T{first.id} precedes "
                f"{versions.trace[follow[0]]!r} of T{second.id}"
            )
        missing = _unshown(second, versions)
        return (
            f"T{reader} read {shown}, with {element!r} of T{first.id} and yet without {missing!r} "
            f"of T{second.id}"
        )

    def _read_of(self, writer: int, reader: int, key: Key) -> str:
        first, second = self.history.transactions[writer], self.history.transactions[reader]
        place = min(_places(first, self.versions[key]))
        longest = max(self._versions_read(reader, key), key=len)
        return (
            f"T{second.id} read {show_list(longest)} of {show_key(key)}, which holds "
            f"{self.versions[key].trace[place]!r} appended by T{first.id}"
        )

    def _missed(self, reader: int, writer: int, key: Key) -> str:
        first, second = self.history.transactions[reader], self.history.transactions[writer]
        versions = self.versions[key]
        shortest = min(self._versions_read(reader, key), key=len)
        as_read = any(isinstance(op, Read) and op.value == shortest for op in first.ops)
        aside = "" if as_read else ", its own appends aside"
        late = [place for place in _places(second, versions) if place >= len(shortest)]
        element = versions.trace[late[0]] if late else _unshown(second, versions)
        return (
            f"T{first.id} read {show_list(shortest)} of {show_key(key)}{aside}, which misses "
            f"{element!r} appended by T{second.id}"
        )

    def _versions_read(self, reader: int, key: Key) -> list[tuple[Element, ...]]:
        trace = self.versions[key].trace
        return [
            one.version
            for one in self.observations[key]
            if one.reader == reader and one.version == trace[: len(one.version)]
        ]


def _kind_of_pair(
    reasons: list[list[_Reason]], chosen: list[_Reason]
) -> tuple[AnomalyKind | None, list[_Reason]]:
    """Recognise what two transactions do to each other on one key."""
    if all(relation in (Relation.WRITE_WRITE, Relation.WRITE_READ) for relation, _ in chosen):
        return None, chosen
    for back in (Relation.WRITE_WRITE, Relation.READ_WRITE, Relation.WRITE_READ):
        for one, other in ((0, 1), (1, 0)):
            for relation, key in reasons[one]:
                if relation is Relation.READ_WRITE and (back, key) in reasons[other]:
                    pair: list[_Reason] = [(relation, key), (back, key)]
                    partial = back is Relation.WRITE_READ
                    kind = AnomalyKind.INTERMEDIATE_READ if partial else AnomalyKind.LOST_UPDATE
                    return kind, pair if one == 0 else pair[::-1]
    return None, chosen


def _appended(transaction: Transaction, key: Key) -> list[Element]:
    return [op.element for op in transaction.ops if isinstance(op, Append) and op.key == key]


def _places(writer: Transaction, versions: Versions) -> list[int]:
    return [
        versions.trace.index(element)
        for element in _appended(writer, versions.key)
        if element in versions.trace
    ]


def _unshown(writer: Transaction, versions: Versions) -> Element:
    elements: Collection[Element] = _appended(writer, versions.key)
    return next(element for element in elements if element not in versions.trace)
