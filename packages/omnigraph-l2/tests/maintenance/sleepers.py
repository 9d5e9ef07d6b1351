"""Processes that are stopped in the middle of something, and go on much later.

A test module has no name that another process can import; this module has.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from small_graph import PERSON, append, leased
from upkeepwork import NOTHING

from campaign.forked_processes import process_context
from omnigraph_l1 import failpoints
from omnigraph_l2 import Repository

__all__ = [
    "ASLEEP",
    "JOBS",
    "clean_in_its_sleep",
    "go_on",
    "merge_in_its_sleep",
    "read_in_its_sleep",
    "stopped",
]

ASLEEP = 0.2
"""For how many seconds a lease of these processes counts."""
_DEADLINE = 60


@contextmanager
def stopped(job: Callable[..., object], *arguments: Any) -> Iterator[list[Any]]:
    """Start a process, wait until it has stopped itself, and let it go on in the end.

    Yield a list that contains what the job returned, once the block is left.
    """
    context = process_context()
    ours, theirs = context.Pipe()
    process = context.Process(target=_watch, args=(theirs, job, arguments))
    with ours, theirs:
        process.start()
        assert ours.poll(_DEADLINE)
        pid, is_stopped = ours.recv()
        assert is_stopped
        returned: list[Any] = []
        try:
            yield returned
        finally:
            os.kill(pid, signal.SIGCONT)
            process.join(_DEADLINE)
        returned.append(ours.recv())


def _watch(pipe: Connection, job: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    """Run a job in a child, because only a parent can wait until its child is stopped."""
    pid = os.fork()
    if pid == 0:
        try:
            pipe.send(job(*arguments))
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, os.WUNTRACED)
    pipe.send((pid, os.WIFSTOPPED(status)))
    os.waitpid(pid, 0)


def _stop(repo: Repository) -> None:
    """Stop this process, and come back when its lease is long past.

    It is not stopped in the middle of a renewal, where it would hold the lock of all leases.
    """
    with repo._leases._writing:
        began = time.monotonic()
        os.kill(os.getpid(), signal.SIGSTOP)
    while time.monotonic() - began < 2 * ASLEEP:
        os.sched_yield()


@contextmanager
def _stopping_at(point: str, repo: Repository) -> Iterator[None]:
    """Stop this process each time it reaches a named step."""

    def handler(name: str) -> None:
        if name == point:
            with failpoints.handling(lambda _: None):
                _stop(repo)

    with failpoints.handling(handler):
        yield


def clean_in_its_sleep(uri: str, point: str) -> object:
    """Clean up at zero age, and be stopped at a named step."""
    with leased(Repository.open(uri, durability="none")) as repo:
        repo._leases._seconds = ASLEEP
        repo.snapshot()
        with _stopping_at(point, repo):
            return _outcome(lambda: repo.cleanup(NOTHING, dry_run=False))


def merge_in_its_sleep(uri: str, options: Mapping[str, str] | None) -> object:
    """Merge main into a branch, and be stopped after the last check before the write."""
    with leased(Repository.open(uri, options, durability="none")) as repo:
        repo._leases._seconds = ASLEEP
        with _stopping_at("l2.publish.planned", repo):
            return _outcome(lambda: repo.branches.merge("main", "side"))


def read_in_its_sleep(uri: str) -> object:
    """Take a snapshot without a lease, be stopped, and read it."""
    with Repository.open(uri, durability="none") as repo:
        snapshot = repo.snapshot()
        assert repo._leases.name is None
        _stop(repo)
        return _outcome(lambda: snapshot.read(PERSON))


def _outcome(work: Callable[[], Any]) -> Any:
    try:
        done = work()
    except Exception as error:  # noqa: BLE001 - the test tells what it should be
        return type(error).__name__
    return done if isinstance(done, (str, list)) else type(done).__name__


def go_on(uri: str, name: str) -> object:
    """Begin something, be stopped, and go on with it."""
    with leased(Repository.open(uri, durability="none")) as repo:
        repo._leases._seconds = ASLEEP
        work = JOBS[name](repo)
        _stop(repo)
        return _outcome(work)


def _reading(repo: Repository) -> Callable[[], Any]:
    snapshot = repo.snapshot()
    snapshot.read(PERSON)
    return lambda: snapshot.read(PERSON)


def _reading_again(repo: Repository) -> Callable[[], Any]:
    tx = repo.transaction().__enter__()
    tx.read(PERSON)
    return lambda: tx.read(PERSON)


def _scanning(repo: Repository) -> Callable[[], Any]:
    tx = repo.transaction().__enter__()
    return lambda: tx.scan(PERSON).read_all()


def _writing(repo: Repository) -> Callable[[], Any]:
    tx = repo.transaction().__enter__()
    tx.append(PERSON, [{"id": "late"}])
    return lambda: tx.__exit__(None, None, None)


def _changing(repo: Repository) -> Callable[[], Any]:
    tx = repo.transaction().__enter__()

    def change() -> None:
        tx.delete(PERSON, "age = 1")
        tx.__exit__(None, None, None)

    return change


def _publishing_a_run(repo: Repository) -> Callable[[], Any]:
    run = repo.runs.begin()
    tx = run.transaction().__enter__()
    tx.append(PERSON, [{"id": "late"}])
    return lambda: tx.__exit__(None, None, None)


def _tagging(repo: Repository) -> Callable[[], Any]:
    snapshot = repo.snapshot()
    return lambda: repo.tags.create("late", snapshot)


def _beginning_anew(repo: Repository) -> Callable[[], Any]:
    repo.snapshot()
    return lambda: append(repo, "new")


JOBS = {
    "read": _reading,
    "read again": _reading_again,
    "scan": _scanning,
    "write": _writing,
    "change": _changing,
    "run": _publishing_a_run,
    "tag": _tagging,
    "anew": _beginning_anew,
}
