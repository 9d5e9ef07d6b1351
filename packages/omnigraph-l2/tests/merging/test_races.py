"""Merges beside writers on the target, in threads that meet at a chosen step and in processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from mergework import KNOWS, PERSON, ages, edge, put, race_to_merge, race_to_write, rows

from omnigraph_l1 import failpoints
from omnigraph_l2 import GraphSchema, MergeKind, NodeType, Repository
from omnigraph_l2.errors import MergeConflicts

DEADLINE = 90


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a writer that is called in the middle of another one not wait for its turn."""
    monkeypatch.setattr("omnigraph_l2._publishing.turns._PATIENCE_SECONDS", 0.0)


@contextmanager
def meanwhile(act: Callable[[], object], point: str = "l2.merge.written") -> Iterator[None]:
    """Act when a merge first comes to a step."""
    passed: list[str] = []

    def handler(name: str) -> None:
        if name == point and point not in passed:
            passed.append(name)
            with failpoints.handling(lambda _: None):
                act()

    with failpoints.handling(handler):
        yield
    assert passed == [point]


def test_somebody_publishes_to_a_table_that_is_merged(repo: Repository) -> None:
    """It is decided anew, on what is there then."""
    put(repo, "side", ann=2)
    with meanwhile(lambda: put(repo, "main", bob=3)):
        result = repo.branches.merge("side")
    assert result.kind is MergeKind.MERGED
    assert ages(repo) == {"ann": 2, "bob": 3, "cat": 1}
    assert [each.merged_parent_commit_id is not None for each in repo.log(limit=2)] == [True, False]


def test_somebody_makes_it_a_conflict(repo: Repository) -> None:
    """It is told then, and nothing is merged."""
    put(repo, "side", ann=2)
    with meanwhile(lambda: put(repo, "main", ann=3)), pytest.raises(MergeConflicts):
        repo.branches.merge("side")
    assert ages(repo)["ann"] == 3


def test_somebody_adds_an_edge_to_a_node_that_goes(repo: Repository) -> None:
    """Also where no table of edges is merged."""
    put(repo, "side", cat=None)
    act = lambda: put(repo, "main", KNOWS, ac=edge("ann", "cat"))  # noqa: E731
    with meanwhile(act), pytest.raises(MergeConflicts) as raised:
        repo.branches.merge("side")
    assert [each.row_id for each in raised.value.conflicts] == ["ac"]


def test_somebody_deletes_a_node_that_a_new_edge_needs(repo: Repository) -> None:
    """Also where no table of nodes is merged."""
    put(repo, "side", KNOWS, ac=edge("ann", "cat"))
    with meanwhile(lambda: put(repo, "main", cat=None)), pytest.raises(MergeConflicts) as raised:
        repo.branches.merge("side")
    assert [each.row_id for each in raised.value.conflicts] == ["ac"]


def test_somebody_changes_another_table(repo: Repository) -> None:
    """It does not matter, but the target has moved."""
    put(repo, "side", ann=2)
    with meanwhile(lambda: put(repo, "main", "node:Company", more={"name": "More"})):
        result = repo.branches.merge("side")
    assert result.kind is MergeKind.MERGED
    assert set(rows(repo, "node:Company")) == {"co", "more"}


def test_somebody_changes_the_schema(repo: Repository) -> None:
    """It is decided anew."""
    put(repo, "side", ann=2)
    schema = repo.snapshot().schema
    more = GraphSchema(nodes=[*schema.nodes, NodeType("Pet")], edges=schema.edges)
    with meanwhile(lambda: repo.evolve(more)):
        repo.branches.merge("side")
    assert ages(repo)["ann"] == 2
    assert "node:Pet" in repo.snapshot().tables


def test_the_source_moves_on(repo: Repository) -> None:
    """What is merged is what it was when the merge began."""
    made = put(repo, "side", ann=2)
    assert made is not None
    with meanwhile(lambda: put(repo, "side", bob=3)):
        commit = repo.branches.merge("side").commit
    assert commit is not None
    assert commit.merged_parent_commit_id == made.graph_commit_id
    assert ages(repo) == {"ann": 2, "bob": 1, "cat": 1}


@pytest.mark.integration
def test_processes_that_write_and_merge(anywhere: Repository) -> None:
    """Each write and each merge is there once, whatever the order."""
    repo = anywhere
    for number in range(2):
        repo.branches.create(f"side-{number}")
    options = repo._root.storage.lance_options
    context = multiprocessing.get_context("spawn")
    start, told = context.Barrier(4), context.Queue()
    jobs: list[tuple[Any, int]] = [(race_to_merge, 0), (race_to_merge, 1)]
    jobs += [(race_to_write, 0), (race_to_write, 1)]
    racers = [
        context.Process(target=job, args=(repo.uri, options, number, start, told))
        for job, number in jobs
    ]
    for racer in racers:
        racer.start()
    assert [told.get(timeout=DEADLINE) for _ in racers] == [""] * len(racers)
    for racer in racers:
        racer.join(DEADLINE)
    found = set(rows(repo, PERSON))
    assert found == {"ann", "bob", "cat"} | {
        f"{who}-{number}-{turn}" for who in ("b", "w") for number in range(2) for turn in range(3)
    }
    commits = repo.log()
    assert sum(each.merged_parent_commit_id is not None for each in commits) == 6
    parents = [each.parent_commit_id for each in commits]
    assert parents == [*(each.graph_commit_id for each in commits[1:]), None]
