"""Orders as chains, so that "before everything from here on" is one link and not a million.

A chain is a sequence of nodes. A link ``(chain, start, relation)`` of a node says: this node comes
before every other node of the chain from ``start`` on. All relations between transactions have
this form (the versions of a key, the acts of a process, time), so a graph is as big as its history.
Invariant: no recursion; time linear in nodes, links and chains.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from attrs import define, field

from omnigraph_testing.histories._anomaly_report import Relation
from omnigraph_testing.histories._history_model import Key

__all__ = ["Graph", "Link", "components"]

Link = tuple[int, int, Relation]


@define
class Graph:
    """Nodes ``0 … size-1``, each with its links into the chains."""

    size: int
    chains: list[list[int]] = field(factory=list)
    keys: list[Key | None] = field(factory=list)
    links: list[list[Link]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.links = [[] for _ in range(self.size)]

    def add_chain(self, targets: list[int], key: Key | None = None) -> int:
        """Add a chain and say its number."""
        self.chains.append(targets)
        self.keys.append(key)
        return len(self.chains) - 1

    def link(self, node: int, chain: int, start: int, relation: Relation) -> None:
        """Put ``node`` before all of ``chain`` from ``start`` on, itself left out."""
        if start < len(self.chains[chain]):
            self.links[node].append((chain, start, relation))

    def restrict(self, nodes: Iterable[int], relations: Collection[Relation]) -> Graph:
        """Keep these nodes and relations alone, under the same numbers."""
        kept = set(nodes)
        small = Graph(self.size)
        moved: dict[int, tuple[int, list[int]]] = {}
        for node in kept:
            for chain, start, relation in self.links[node]:
                if relation not in relations:
                    continue
                if chain not in moved:
                    moved[chain] = self._shrink(chain, kept, small)
                number, places = moved[chain]
                small.link(node, number, places[start], relation)
        return small

    def _shrink(self, chain: int, kept: set[int], small: Graph) -> tuple[int, list[int]]:
        targets: list[int] = []
        places: list[int] = []
        for target in self.chains[chain]:
            places.append(len(targets))
            if target in kept:
                targets.append(target)
        return small.add_chain(targets, self.keys[chain]), places

    def relations(self, before: int, after: int) -> Iterator[tuple[Relation, Key | None]]:
        """Yield every direct reason why ``before`` comes before ``after``."""
        for chain, start, relation in self.links[before]:
            if after in self.chains[chain][start:]:
                yield relation, self.keys[chain]


def components(graph: Graph, nodes: Iterable[int]) -> list[list[int]]:
    """Find the groups of at least two of ``nodes`` that all come before each other."""
    successors = _successors(graph)
    unseen, done = -1, len(successors)
    low = [unseen] * len(successors)
    path: list[int] = []
    found: list[list[int]] = []
    clock = 0
    for root in nodes:
        if low[root] != unseen:
            continue
        low[root] = clock
        clock += 1
        path.append(root)
        work = [(root, low[root], iter(successors[root]))]
        while work:
            node, entered, rest = work[-1]
            for after in rest:
                if low[after] == unseen:
                    low[after] = clock
                    path.append(after)
                    work.append((after, clock, iter(successors[after])))
                    clock += 1
                    break
                low[node] = min(low[node], low[after])
            else:
                work.pop()
                if low[node] == entered:
                    group = _unwind(path, node, low, done)
                    real = [member for member in group if member < graph.size]
                    if len(real) > 1:
                        found.append(sorted(real))
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
    return found


def _unwind(path: list[int], node: int, low: list[int], done: int) -> list[int]:
    group = []
    while True:
        member = path.pop()
        low[member] = done
        group.append(member)
        if member == node:
            return group


def _successors(graph: Graph) -> list[list[int]]:
    """Make for each place in a chain a helper node that leads to its target and the next place."""
    successors: list[list[int]] = [[] for _ in range(graph.size)]
    first: list[int] = []
    for targets in graph.chains:
        first.append(len(successors))
        for place, target in enumerate(targets, start=len(successors) + 1):
            successors.append([target, place])
        if targets:
            successors[-1].pop()
    for node, links in enumerate(graph.links):
        successors[node] = [first[chain] + start for chain, start, _ in links]
    return successors
