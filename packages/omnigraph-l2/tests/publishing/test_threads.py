"""What other threads of the process do with the handle while one of them publishes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def _waiting_for_locks() -> int:
    return sum(each.name.startswith("waits for") for each in threading.enumerate())


STOPS = """
import os, signal, sys
from pathlib import Path
from omnigraph_l1 import directory_lock
with directory_lock(Path(sys.argv[1]), patience=1):
    os.write(1, b"x")
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.integration
def test_a_process_that_was_stopped_while_it_moved_a_pointer(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others publish; the pointer stays behind for that time, and nothing else does."""
    wait = threading.Event.wait

    def hurry(event: threading.Event, seconds: float | None = None) -> bool:
        return wait(event, seconds if seconds is None else min(seconds, 0.1))

    lock = Path(repo.uri) / "_refs" / "branches" / ".lock"
    stopped = subprocess.Popen([sys.executable, "-c", STOPS, str(lock)], stdout=subprocess.PIPE)
    try:
        assert stopped.stdout is not None
        assert stopped.stdout.read(1) == b"x"
        monkeypatch.setattr(threading.Event, "wait", hurry)
        with Repository.open(repo.uri, durability="none") as other:
            with other.transaction() as tx:
                tx.append(A, [{"id": "a"}])
            assert other.log()[0] == tx.commit
            waiting = _waiting_for_locks()
            with other.transaction() as tx:
                tx.append(A, [{"id": "a2"}])
            assert _waiting_for_locks() == waiting, "each publish waits for the pointer"
    finally:
        stopped.kill()
        stopped.communicate()
    monkeypatch.undo()
    with repo.transaction() as tx:
        tx.append(A, [{"id": "b"}])
    assert tx.commit is not None
    assert repo.branches.list()[0].head_commit_id == tx.commit.graph_commit_id
    assert repo.verify().ok


def test_work_of_a_thread_while_another_one_closes_the_handle(repo: Repository) -> None:
    """It is done by that thread, as that of a snapshot that is read later: no other is started."""
    root = repo._root
    root.close()
    doing = root.at_once(lambda _: threading.current_thread(), [1, 2, 3])
    assert doing == [threading.current_thread()] * 3


def test_work_within_work_does_not_wait_for_its_own_threads(repo: Repository) -> None:
    """More pieces than threads, each of which has pieces again: a fence of many branches does."""
    done: list[int] = []

    def outer(number: int) -> int:
        return sum(repo._root.at_once(lambda each: each, range(number)))

    worker = threading.Thread(
        target=lambda: done.extend(repo._root.at_once(outer, range(20))), daemon=True
    )
    worker.start()
    worker.join(30)
    assert done == [sum(range(number)) for number in range(20)]
