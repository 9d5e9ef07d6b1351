"""The smallest cycle within a group of nodes that all come before each other.

Invariant: what is returned is a cycle. It is the smallest one if ``proven`` says so, which fails
only when the search has used up its budget in a group with very many conflicts.
"""

from __future__ import annotations

from attrs import define, frozen

from omnigraph_testing.histories._anomaly_report import Relation
from omnigraph_testing.histories._order_graph import Graph

__all__ = ["FoundCycle", "smallest_cycle"]

_BUDGET = 4_000_000
_PRICE_OF_A_LINK = 8  # against one for each place scanned, which is much cheaper
_BOUNDLESS = 1 << 62
_PAIR = 2
_ONE_ORDER_STEP = 3  # a longer cycle may need two steps of time, which are never neighbours
_ORDER = (Relation.PROCESS, Relation.REAL_TIME)


@frozen
class FoundCycle:
    """The nodes in order, and whether no smaller cycle exists."""

    nodes: tuple[int, ...]
    proven: bool


@define
class _Budget:
    left: int

    def spend(self, steps: int) -> bool:
        self.left -= steps
        return self.left > 0


def smallest_cycle(graph: Graph, group: list[int], budget: int = _BUDGET) -> FoundCycle | None:
    """Find it by breadth-first searches from each node; None if the group has no cycle.

    Steps of time lead to nearly everything, so they are first allowed only as the last step:
    that finds every cycle of up to three nodes, and every cycle with one such step.
    """
    last_place = _last_places(graph)
    start = group[0]
    whole = _Budget(_BOUNDLESS)
    best = _through(graph, start, last_place[start], len(group), by_order=True, purse=whole)
    if best is None:
        return None
    purse = _Budget(budget)
    for by_order in (False, True):
        for node in group:
            limit = len(best) - 1
            if limit < _PAIR or (by_order and limit <= _ONE_ORDER_STEP):
                break
            found = _through(graph, node, last_place[node], limit, by_order=by_order, purse=purse)
            best = found or best
            if purse.left <= 0:
                return FoundCycle(best, proven=len(best) == _PAIR)
    return FoundCycle(best, proven=True)


def _last_places(graph: Graph) -> list[dict[int, int]]:
    """For each node, the last place that it has in each chain."""
    places: list[dict[int, int]] = [{} for _ in range(graph.size)]
    for chain, targets in enumerate(graph.chains):
        for place, target in enumerate(targets):
            places[target][chain] = place
    return places


def _through(
    graph: Graph,
    goal: int,
    goal_places: dict[int, int],
    limit: int,
    *,
    by_order: bool,
    purse: _Budget,
) -> tuple[int, ...] | None:
    """Find the smallest cycle of at most ``limit`` nodes that contains ``goal``."""
    parents = {goal: goal}
    scanned: dict[int, int] = {}
    level, length = [goal], 1
    while level and length < limit:
        length += 1
        ahead: list[int] = []
        for node in level:
            for chain, start, relation in graph.links[node]:
                targets = graph.chains[chain]
                end = scanned.get(chain, len(targets))
                if start >= end or (relation in _ORDER and not by_order):
                    continue
                scanned[chain] = start
                if not purse.spend(end - start + _PRICE_OF_A_LINK):
                    return None
                for after in targets[start:end]:
                    if after in parents:
                        continue
                    parents[after] = node
                    for back, begin, _ in graph.links[after]:
                        if goal_places.get(back, -1) >= begin:
                            return _path(parents, goal, after)
                    ahead.append(after)
        level = ahead
    return None


def _path(parents: dict[int, int], goal: int, last: int) -> tuple[int, ...]:
    nodes = [last]
    while nodes[-1] != goal:
        nodes.append(parents[nodes[-1]])
    return tuple(reversed(nodes))
