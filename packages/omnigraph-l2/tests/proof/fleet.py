"""Several real processes that work on one repository at the same time.

A module that children import: what they run must be importable under its name.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l2 import GraphSchema, NodeType, Repository

FULL_SIZE = os.environ.get("OMNIGRAPH_FULL_SIZE") == "1"
_DEADLINE_SECONDS = 900.0


def scaled(full: int) -> int:
    """Give the full size, or the tenth of it that runs in CI."""
    return full if FULL_SIZE else max(1, full // 10)


@attrs.frozen
class Place:
    """Where a repository is."""

    uri: str
    options: Mapping[str, str] | None

    @property
    def is_local(self) -> bool:
        """Whether it is on local disk."""
        return self.options is None

    def make(self, schema: GraphSchema) -> Repository:
        """Make the repository."""
        return Repository.init(self.uri, schema, storage_options=self.options)

    def open(self, actor: str | None = None) -> Repository:
        """Open the repository."""
        return Repository.open(self.uri, storage_options=self.options, actor=actor)


@attrs.frozen
class Failure:
    """What came out of a process instead of a value."""

    trace: str


def tables(count: int) -> GraphSchema:
    """Declare some node types that are alike: ``node:T0`` and so on."""
    return GraphSchema(nodes=[NodeType(f"T{n}", {"value": pa.int64()}) for n in range(count)])


def _work(
    job: Callable[..., Any], arguments: tuple[Any, ...], ready: Any, start: Any, out: Any
) -> None:
    try:
        ready.release()
        if not start.wait(_DEADLINE_SECONDS):
            out.put(Failure("the start never came"))
            return
        out.put(job(*arguments))
    except BaseException:  # noqa: BLE001 - told in the parent
        out.put(Failure(traceback.format_exc()))


def at_once(job: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Run a job in one process for each tuple of arguments, all at the same time.

    Gives what they gave, in any order; raises where one of them failed.
    """
    context = multiprocessing.get_context("spawn")
    ready, start, out = context.Semaphore(0), context.Event(), context.Queue()
    children = [
        context.Process(target=_work, args=(job, each, ready, start, out), daemon=True)
        for each in arguments
    ]
    for child in children:
        child.start()
    deadline = time.monotonic() + _DEADLINE_SECONDS
    try:
        for _ in children:
            while not ready.acquire(timeout=0.1):
                assert time.monotonic() < deadline, "a process did not start"
                assert all(child.exitcode is None for child in children), "a process died early"
        start.set()
        results = [out.get(timeout=deadline - time.monotonic()) for _ in children]
        for child in children:
            child.join(timeout=max(0.1, deadline - time.monotonic()))
    finally:
        for child in children:
            child.kill()
    failures = [each.trace for each in results if isinstance(each, Failure)]
    assert not failures, "\n".join(failures)
    return results


def assert_linear(repository: Repository, commits: int) -> None:
    """One parent chain, without a hole or a fork, of just so many commits beside the genesis."""
    log = repository.log()
    assert len(log) == commits + 1
    assert len({commit.graph_commit_id for commit in log}) == commits + 1
    for commit, parent in itertools.pairwise(log):
        assert commit.parent_commit_id == parent.graph_commit_id
        assert commit.created_at > parent.created_at
    assert log[-1].parent_commit_id is None


def ids_of(repository: Repository, table_key: str) -> list[str]:
    """Read the ids of a table as they are now."""
    snapshot = repository.snapshot()
    found: list[str] = snapshot.read(table_key, columns=["id"]).column("id").to_pylist()
    assert snapshot.tables[table_key].row_count == len(found)
    return found
