"""Tests of a program on omnigraph, as any project can have them.

They need ``pip install 'omnigraph-testing[graph,s3]'``, and no configuration.
Each test shows one thing that goes wrong in production and hardly ever on a desk.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from households import move

from omnigraph_l2 import Repository
from omnigraph_l2.errors import CommitOutcomeUnknown, DanglingEdges
from omnigraph_testing import Answer, AtPoint, CutReply, Rule, sample_graph

_PUBLISH = "*/__manifest/_versions/*"


def homes(repo: Repository) -> dict[str, str]:
    """Tell who lives where."""
    return {row["src"]: row["dst"] for row in repo.snapshot().read("edge:Lives").to_pylist()}


def test_a_move(omnigraph_repo):
    """On a small graph that is made anew for each test: ann and bob live in Oslo."""
    move(omnigraph_repo, ["ann"], "rome")
    assert homes(omnigraph_repo) == {"ann": "rome", "bob": "oslo"}


def test_what_is_refused_leaves_nothing(omnigraph_repo):
    """Nobody moves when one of them is not there, and the new city is not there either."""
    with pytest.raises(DanglingEdges):
        move(omnigraph_repo, ["ann", "nobody"], "rome")
    assert homes(omnigraph_repo) == {"ann": "oslo", "bob": "oslo"}
    assert omnigraph_repo.snapshot().find("node:City", ["rome"]).num_rows == 0


def test_two_moves_at_once(omnigraph_repo):
    """Each waits for nobody, and both happen."""
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda who: move(omnigraph_repo, [who], f"{who}ville"), ["ann", "bob"]))
    assert homes(omnigraph_repo) == {"ann": "annville", "bob": "bobville"}


def test_a_lost_reply(faulty_s3):
    """The store did it, and the line went dead: it is found out, and done once."""
    repo = sample_graph(faulty_s3.uri("graph"), faulty_s3.storage_options)
    before = len(repo.log())
    lost = faulty_s3.inject(Rule(CutReply(), "PUT", key=_PUBLISH, times=1))
    move(repo, ["ann", "bob"], "rome")
    assert lost.fired == 1
    assert homes(repo) == {"ann": "rome", "bob": "rome"}
    assert len(repo.log()) == before + 1


def test_a_store_that_is_gone_after_the_publish(faulty_s3):
    """Nobody knows whether it happened: the program says so, and the same call again is safe."""
    repo = sample_graph(faulty_s3.uri("graph"), faulty_s3.storage_options)
    seen: list[Any] = []

    def gone(operation):
        if seen or (operation.method == "PUT" and "/__manifest/_versions/" in operation.key):
            seen.append(operation)
        return len(seen) > 1

    faulty_s3.inject(Rule(CutReply(), "PUT", key=_PUBLISH, times=1))
    faulty_s3.inject(Rule(Answer(403), predicate=gone))
    with pytest.raises(CommitOutcomeUnknown) as unknown:
        move(repo, ["ann"], "rome")
    faulty_s3.clear()
    assert move(repo, ["ann"], "rome").graph_commit_id == unknown.value.commit_id


def move_there(location: str) -> None:
    """Do it in a process that is going to die."""
    with Repository.open(location) as repo:
        move(repo, ["ann", "bob"], "rome")


@pytest.mark.parametrize(
    ("point", "moved"), [("l2.publish.planned", False), ("l2.publish.visible", True)]
)
def test_a_crash(omnigraph_crash, tmp_path, point, moved):
    """Killed before the publish nothing has moved, after it both have; the next one works."""
    location = tmp_path / "graph"
    with sample_graph(location) as repo:
        before = homes(repo)
    outcome = omnigraph_crash.run(move_there, str(location), kill=AtPoint(point))
    assert outcome.killed, outcome
    with Repository.open(location) as repo:
        assert homes(repo) == ({"ann": "rome", "bob": "rome"} if moved else before)
        move(repo, ["ann", "bob"], "rome")
        assert homes(repo) == {"ann": "rome", "bob": "rome"}
        assert repo.verify().ok
