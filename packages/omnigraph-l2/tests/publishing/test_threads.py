"""What other threads of the process do with the handle while one of them publishes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph_l1.deadlines import LOCK_SECONDS
from omnigraph_l1.failpoints import handling
from omnigraph_l2 import GraphSchema, NodeType, Repository

A, B = "node:A", "node:B"


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """A repository with two empty tables."""
    schema = GraphSchema(nodes=[NodeType("A"), NodeType("B")])
    with Repository.init(tmp_path / "repo", schema, durability="none") as made:
        yield made


@pytest.mark.parametrize("step", ["l2.publish.planned", "l2.table.committed"])
def test_a_thread_that_reads_what_others_published(repo: Repository, step: str) -> None:
    """A publish is written onto the state for which it was planned, or not at all.

    Turns are taken away, as where nobody waits for them: they protect nothing.
    """
    theirs: list[str] = []

    def meanwhile(name: str) -> None:
        if name == step and not theirs:
            theirs.append("")
            shutil.rmtree(Path(repo.uri) / "_turn")
            with Repository.open(repo.uri, durability="none") as other:
                with other.transaction() as tx:
                    tx.append(B, [{"id": "theirs"}])
                assert tx.commit is not None
                theirs[0] = tx.commit.graph_commit_id
            repo.snapshot()  # another thread of the first process

    with handling(meanwhile), repo.transaction() as tx:
        tx.append(A, [{"id": "mine"}])
    assert tx.commit is not None
    log = [each.graph_commit_id for each in repo.log()]
    assert log == [tx.commit.graph_commit_id, *theirs, log[-1]]
    assert [each.parent_commit_id for each in repo.log()] == [*log[1:], None]


STOPS = """
import os, signal, sys
from omnigraph_l1 import JsonRefs, failpoints
refs = JsonRefs.open(sys.argv[1])
pointer = refs.get("main")

def stop(point):
    if point == "refs.local.staged":
        os.kill(os.getpid(), signal.SIGSTOP)

with failpoints.handling(stop):
    refs.replace(pointer, pointer.value)
"""


@pytest.mark.integration
def test_a_process_that_was_stopped_while_it_moved_a_pointer(repo: Repository) -> None:
    """Others publish, without waiting for long; the pointer stays behind for that time, and nothing
    else does. Other branches are not concerned.
    """
    repo.branches.create("side")
    pointers = Path(repo.uri) / "_refs" / "branches"
    stopped = subprocess.Popen([sys.executable, "-c", STOPS, str(pointers)])
    try:
        assert os.WIFSTOPPED(os.waitpid(stopped.pid, os.WUNTRACED)[1])
        with Repository.open(repo.uri, durability="none") as other:
            began = time.monotonic()
            with other.transaction() as tx:
                tx.append(A, [{"id": "a"}])
            assert time.monotonic() - began < LOCK_SECONDS
            assert other.log()[0] == tx.commit
            with other.transaction("side") as side:
                side.append(A, [{"id": "c"}])
            heads = {each.name: each.head_commit_id for each in other.branches.list()}
        assert side.commit is not None
        assert heads["side"] == side.commit.graph_commit_id
    finally:
        os.kill(stopped.pid, signal.SIGCONT)
        assert stopped.wait(60) == 0
    with repo.transaction() as tx:
        tx.append(A, [{"id": "b"}])
    assert tx.commit is not None
    assert repo.branches.get("main").head_commit_id == tx.commit.graph_commit_id
    assert repo.verify().ok
