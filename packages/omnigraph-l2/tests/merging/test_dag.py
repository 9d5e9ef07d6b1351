"""The graph of commits alone: what two of them come from, and the rule on their values.

Both are pure, and are given thousands of drawn graphs, too many for repositories.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l2 import GraphCommit
from omnigraph_l2._catalog.graph_commit import EPOCH
from omnigraph_l2._merge.common_ancestors import Ancestors, common_ancestors
from omnigraph_l2._merge.three_way import (
    ABSENT,
    CLASH,
    CommitBase,
    UnknownBase,
    VirtualBase,
    base_of,
    leaves,
    merge3,
    merge3_value,
    resolve_base,
)

Parents = dict[str, tuple[str, ...]]


class Graph:
    """Commits by name; those that come later in the mapping are younger."""

    def __init__(self, parents: Parents, *, ages: dict[str, int] | None = None) -> None:
        self.looked_at: set[str] = set()
        self._commits = {
            name: GraphCommit(
                graph_commit_id=name,
                parent_commit_id=next(iter(of), None),
                merged_parent_commit_id=next(iter(of[1:]), None),
                manifest_version=number,
                created_at=EPOCH + timedelta(seconds=number if ages is None else ages[name]),
            )
            for number, (name, of) in enumerate(parents.items())
        }

    def __call__(self, name: str) -> GraphCommit | None:
        """Look a commit up, as a repository would."""
        self.looked_at.add(name)
        return self._commits.get(name)

    def best(self, ours: str, theirs: str) -> tuple[str, ...]:
        """Give the best common ancestors of two commits."""
        found = common_ancestors(self, [ours], [theirs])
        assert found.lost == ()
        return found.best


LINE: Parents = {"g": (), "a": ("g",), "b": ("a",)}


@pytest.mark.parametrize(
    ("parents", "ours", "theirs", "best"),
    [
        pytest.param(LINE, "b", "b", ("b",), id="itself"),
        pytest.param(LINE, "b", "a", ("a",), id="behind"),
        pytest.param(LINE, "a", "b", ("a",), id="ahead"),
        pytest.param({**LINE, "c": ("a",)}, "b", "c", ("a",), id="parted"),
        pytest.param(
            {**LINE, "c": ("a",), "m": ("b", "c"), "d": ("c",)}, "m", "d", ("c",), id="merged"
        ),
        pytest.param(
            {"g": (), "a": ("g",), "b": ("g",), "m": ("a", "b"), "n": ("b", "a")},
            "m", "n", ("b", "a"), id="crosswise",
        ),
        pytest.param({"g": (), "h": ()}, "g", "h", (), id="nothing in common"),
    ],
)  # fmt: skip
def test_common_ancestors(parents: Parents, ours: str, theirs: str, best: tuple[str, ...]) -> None:
    """The newest commits that both have, and none that is below another of them."""
    assert Graph(parents).best(ours, theirs) == best


def test_the_walk_follows_the_divergence() -> None:
    """A long history below the base is not looked at."""
    names = [f"c{number}" for number in range(1000)]
    parents: Parents = {
        name: (names[number - 1],) if number else () for number, name in enumerate(names)
    }
    parents |= {"ours": ("c999",), "theirs": ("c999",), "more": ("theirs",)}
    graph = Graph(parents)
    assert graph.best("ours", "more") == ("c999",)
    assert graph.looked_at == {"ours", "theirs", "more", "c999"}


def test_a_commit_that_nobody_has_any_more() -> None:
    """Nobody knows what it came from: perhaps from the other side, and newer than what is found."""
    parents: Parents = {"g": (), "a": ("g",), "b": ("g",), "m": ("a", "gone"), "n": ("b",)}
    parents["k"] = ("n", "gone")
    graph = Graph(parents)
    for other in ("n", "k"):
        assert common_ancestors(graph, ["m"], [other]).lost == ("gone",)
        assert base_of(graph, ["m"], [other]) == UnknownBase()
    below: Parents = {**parents, "x": ("m",), "y": ("m",)}
    assert common_ancestors(Graph(below), ["x"], ["y"]) == Ancestors(best=("m",), lost=())


@st.composite
def graphs(draw: st.DrawFn) -> Parents:
    """Draw graphs in which everything comes from one commit."""
    parents: Parents = {"0": ()}
    for number in range(1, draw(st.integers(2, 14))):
        known = list(parents)[-6:]
        few = st.lists(st.sampled_from(known), min_size=1, max_size=2, unique=True)
        parents[str(number)] = tuple(draw(few))
    return parents


def ancestors(parents: Parents, tips: Collection[str]) -> set[str]:
    """Give all that some commits come from, and themselves."""
    found: set[str] = set()
    todo = list(tips)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += parents[name]
    return found


@given(parents=graphs(), seed=st.integers(0, 99))
def test_any_graph(parents: Parents, seed: int) -> None:
    """With right clocks exactly the best ones; with any clocks those too, and only common ones."""
    one, other = random.Random(seed).choices(list(parents), k=2)
    common = ancestors(parents, [one]) & ancestors(parents, [other])
    best = {
        each
        for each in common
        if not any(each in ancestors(parents, parents[more]) for more in common)
    }
    assert set(Graph(parents).best(one, other)) == best
    ages = {name: random.Random(f"{seed} {name}").randrange(5) for name in parents}
    found = set(Graph(parents, ages=ages).best(one, other))
    assert best <= found <= common


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "chosen"),
    [
        (0, 0, 0, 0), (0, 1, 0, 1), (0, 0, 1, 1), (0, 1, 1, 1), (0, 1, 2, CLASH),
        (0, ABSENT, 0, ABSENT), (0, 0, ABSENT, ABSENT), (0, ABSENT, 1, CLASH),
        (ABSENT, 1, ABSENT, 1), (ABSENT, 1, 2, CLASH), (ABSENT, 1, 1, 1),
        (CLASH, 1, 1, 1), (CLASH, 1, 2, CLASH), (CLASH, ABSENT, ABSENT, ABSENT),
        (0, CLASH, CLASH, CLASH), (0, CLASH, 0, CLASH), (0, 0, CLASH, CLASH),
    ],
)  # fmt: skip
def test_the_rule(base: int, ours: int, theirs: int, chosen: int) -> None:
    """For many rows and for one thing alike; a clash equals nothing, not even another one."""
    many = merge3(*(np.array([each], np.int32) for each in (base, ours, theirs)))
    assert many.tolist() == [chosen]
    clash = object()
    one = merge3_value(*(clash if each == CLASH else each for each in (base, ours, theirs)), clash)
    assert (CLASH if one is clash else one) == chosen


def test_the_base_of_sides_that_merged_each_other_crosswise() -> None:
    """It is the merge of both, and what is below is looked for where they differ only."""
    parents: Parents = {"g": (), "a": ("g",), "b": ("g",), "m": ("a", "b"), "n": ("b", "a")}
    base = base_of(Graph(parents), ["m"], ["n"])
    assert isinstance(base, VirtualBase)
    assert leaves(base) == ["b", "a"]
    assert base.base == CommitBase("g")
    rows = {
        "g": np.array([0, 0, 0, 0], np.int32),
        "a": np.array([1, 0, 1, 1], np.int32),
        "b": np.array([0, 2, 1, 2], np.int32),
    }
    assert resolve_base(base, rows.__getitem__, 4).tolist() == [1, 2, 1, CLASH]
