"""Cycles: as small as can be, told so that a person can follow, proven edge by edge."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_testing.histories import AnomalyKind, History, Outcome, Relation, check
from omnigraph_testing.histories._order_graph import Graph, components
from omnigraph_testing.histories._smallest_cycle import smallest_cycle

from ._build import at, history


def test_lost_update_is_told_in_words() -> None:
    """Each step says who read what, what it misses, and whose that is."""
    report = check(history("x= x+1", "x= x+2", "x=1,2"))
    (anomaly,) = report.anomalies
    assert [edge.why for edge in anomaly.cycle] == [
        "T3 read [1, 2] of x, where 1 of T1 precedes 2 of T2",
        "T2 read [] of x, which misses 1 appended by T1",
    ]
    assert [(edge.before, edge.after) for edge in anomaly.cycle] == [(1, 2), (2, 1)]
    assert anomaly.key == "x"


def test_write_skew_is_told_in_words() -> None:
    """A cycle over two keys names the key of each step."""
    (anomaly,) = check(history("x= y+1", "y= x+2")).anomalies
    assert [(edge.key, edge.relation) for edge in anomaly.cycle] == [
        ("x", Relation.READ_WRITE),
        ("y", Relation.READ_WRITE),
    ]
    assert "T1 read [] of x, which misses 2 appended by T2: T1 before T2" in str(anomaly)


def test_stale_read_tells_the_time() -> None:
    """A step of time says how long before."""
    stale = history(("x+1", at(0, 1_000_000)), ("x=", at(3_500_000, 9_000_000)), ("x=1", at(0, 1)))
    text = str(check(stale))
    assert "T1 was answered 2.5 ms before T2 was sent: T1 before T2" in text
    assert "NOT strictly serializable" in text


def test_three_in_a_ring() -> None:
    """Three transactions, each missing the write of the next; no two of them are at odds."""
    ring = check(history("x= y+1", "y= z+2", "z= x+3"))
    (anomaly,) = ring.anomalies
    assert anomaly.kind is AnomalyKind.WRITE_SKEW
    assert anomaly.ids in {(1, 3, 2), (2, 1, 3), (3, 2, 1)}


def test_bystanders_are_left_out() -> None:
    """The cycle through versions in between is shortened to the two that are at odds."""
    long_way = history("x= x+9", "x+1", "x=1 x+2", "x=1,2 x+3", "x=1,2,3,9")
    (anomaly,) = check(long_way).anomalies
    assert anomaly.kind is AnomalyKind.LOST_UPDATE
    assert len(anomaly.ids) == 2
    assert 1 in anomaly.ids


def test_time_is_one_step_however_much_happened_since() -> None:
    """Twenty transactions between the write and the stale read do not lengthen the cycle."""
    between = [(f"y{n}+1", at(10 * n, 10 * n + 1)) for n in range(1, 21)]
    stale = history(("x+1", at(0, 1)), *between, ("x=", at(300, 301)), ("x=1", at(400, 401)))
    (anomaly,) = check(stale).anomalies
    assert set(anomaly.ids) == {1, 22}
    assert anomaly.smallest


def test_unseen_writes_come_after_seen_ones_without_a_reader_between() -> None:
    """That one write was read and the other was not puts them in order: no third is needed."""
    late = history(
        ("x+2", at(0, 1, process="p")), ("x+1", at(2, 3, process="p")), ("x=1", at(0, 9))
    )
    (anomaly,) = check(late, real_time=False).anomalies
    assert set(anomaly.ids) == {1, 2}
    assert "T3 read [1] of x, with 1 of T2 and yet without 2 of T1" in str(anomaly)


def test_simplest_argument_first() -> None:
    """A cycle of data is told without time, even where time would prove it, too."""
    skew = history(("x= y+1", at(0, 1)), ("y= x+2", at(2, 3)), ("x=2 y=1", at(4, 5)))
    (anomaly,) = check(skew).anomalies
    assert anomaly.kind is AnomalyKind.WRITE_SKEW


def test_separate_troubles_are_told_separately() -> None:
    """Two groups of transactions that have nothing to do with each other give two anomalies."""
    two = history("x= x+1", "x= x+2", "x=1,2", "a= b+1", "b= a+2")
    assert check(two).kinds == {AnomalyKind.LOST_UPDATE, AnomalyKind.WRITE_SKEW}


def test_fuller_argument_is_told_if_it_is_smaller() -> None:
    """Where data alone needs three transactions and time needs two, both are told."""
    both = history(
        ("x= y+1", at(0, 10)),
        ("y= z+2", at(0, 10)),
        ("z= x+3", at(0, 10)),
        ("w=", at(20, 21)),
        ("w+4 x=", at(0, 10)),
        ("w=4 x=3", at(30, 31)),
    )
    sizes = sorted(len(one.cycle) for one in check(both).anomalies)
    assert sizes == [2, 3]


def test_report_is_a_plain_value() -> None:
    """A report survives pickling, and equal histories give equal reports."""
    bad = history("x= x+1", "x= x+2", "x=1,2")
    report = check(bad)
    assert pickle.loads(pickle.dumps(report)) == report == check(bad)


def test_many_troubles_are_counted_not_listed() -> None:
    """A broken store gives a report that can still be read."""
    lines = [line for n in range(40) for line in (f"k{n}= k{n}+1", f"k{n}= k{n}+2", f"k{n}=1,2")]
    report = check(history(*lines))
    assert len(report.anomalies) == 10
    assert report.unlisted == 30
    assert "and 30 more that are not listed" in str(report)


def test_report_says_why_outcomes_are_unknown() -> None:
    """A client that is broken is not taken for a store that is right: the reason stands there."""
    lost = {"outcome": Outcome.UNKNOWN, "note": "TypeError: no"}
    text = str(check(history(("x+1", lost), ("x+2", lost), "x=")))
    assert "2 unknown of which 0 were seen; 2 of them: TypeError: no" in text


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw a graph of chains as the checker builds them, with every relation."""
    size = draw(st.integers(2, 7))
    nodes = st.integers(0, size - 1)
    graph = Graph(size)
    for targets in draw(st.lists(st.lists(nodes, min_size=1, max_size=4), min_size=1, max_size=4)):
        chain = graph.add_chain(targets)
        for node in draw(st.lists(nodes, max_size=3)):
            start = draw(st.integers(0, len(targets) - 1))
            graph.link(node, chain, start, draw(st.sampled_from(list(Relation)[:3])))
    return graph


@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(graphs())
def test_components_and_cycles_agree_with_plain_search(graph: Graph) -> None:
    """Groups and smallest cycles are those that a search over every pair of nodes finds."""
    after = [
        {t for chain, start, _ in links for t in graph.chains[chain][start:]} - {node}
        for node, links in enumerate(graph.links)
    ]
    reach = [[0 if a == b else None for b in range(graph.size)] for a in range(graph.size)]
    for node in range(graph.size):
        level, distance = {node}, 0
        while level:
            distance += 1
            level = {t for n in level for t in after[n] if reach[node][t] is None}
            for target in level:
                reach[node][target] = distance
    groups = {
        frozenset(
            b for b in range(graph.size) if reach[a][b] is not None and reach[b][a] is not None
        )
        for a in range(graph.size)
    }
    found = components(graph, range(graph.size))
    assert {frozenset(group) for group in found} == {group for group in groups if len(group) > 1}
    for group in found:
        small = graph.restrict(group, tuple(Relation))
        cycle = smallest_cycle(small, group)
        assert cycle is not None
        steps = zip(cycle.nodes, (*cycle.nodes[1:], cycle.nodes[0]), strict=True)
        assert all(b in after[a] for a, b in steps)
        shortest = min(reach[a][b] + 1 for b in group for a in after[b] if a in group and a != b)
        assert len(cycle.nodes) == shortest
        assert cycle.proven


def test_deep_chains_need_no_recursion() -> None:
    """A ring of 5,000 transactions is found, and is the smallest one."""
    size = 5_000
    ring: History = history(*(f"k{n}= k{(n + 1) % size}+1" for n in range(size)))
    (anomaly,) = check(ring, real_time=False).anomalies
    assert len(anomaly.ids) == size
