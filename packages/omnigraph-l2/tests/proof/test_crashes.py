"""A transaction that is killed: all of it is there, or nothing; the next writer just works."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fleet import assert_linear
from killed_jobs import change_all, prepared, publish_many
from sizes import commit_seed, sized

from campaign.traced_crash import TracedCrash
from campaign.tracing.file_operations import Link, Operation, Passed, Rename
from omnigraph_l1 import failpoints
from omnigraph_l2 import Repository
from omnigraph_testing import Crash

# A compaction takes numbers for its fragments in a version of its own, in one call of Lance's.
_INSIDE_LANCE = "l1.compact.visible"
_SAMPLE = sized(8, None)


def _assert_whole(uri: str, what: str) -> None:
    """Readers see the state before or after; then one writes without help, and another reads."""
    with Repository.open(uri, durability="none") as repository:
        before = repository.snapshot()
        happened = repository.log(limit=1)[0].message == "killed"
        people = sorted(before.read("node:Person").column("id").to_pylist())
        cities = {row["id"]: row["name"] for row in before.read("node:City").to_pylist()}
        edges = before.read("edge:Lives").column("id").to_pylist()
        if happened:
            assert people == ["ann", "bob", "eve"], what
            assert cities == {"oslo": "Kristiania", "rome": None}, what
            assert edges == ["eve-rome"], what
        else:
            assert people == ["ann", "bob"], what
            assert list(cities) == ["oslo"], what
            assert edges == ["ann-oslo"], what
        for key, entry in before.tables.items():
            assert entry.row_count == before.read(key).num_rows, what
        with repository.transaction() as tx:
            tx.append("node:Person", [{"id": "zoe", "name": "Zoe"}])
            tx.append("edge:Lives", [{"id": "zoe-oslo", "src": "zoe", "dst": "oslo"}])
        assert_linear(repository, 128 + happened)
    with Repository.open(uri, durability="none") as repository:
        after = repository.snapshot()
        assert sorted(after.read("node:Person").column("id").to_pylist()) == [*people, "zoe"], what
        assert sorted(after.read("edge:Lives").column("id").to_pylist()) == [*edges, "zoe-oslo"]


def test_killed_at_each_named_step(omnigraph_crash: Crash) -> None:
    """Tables, publish, pointer, log, pruning, compaction: between any two of them."""
    for crashed in omnigraph_crash.everywhere(
        change_all, prepare=prepared, limit=_SAMPLE, seed=commit_seed()
    ):
        _assert_whole(crashed.arguments[0], str(crashed))


def test_killed_at_operations_on_files(traced_crash: TracedCrash) -> None:
    """The same at moments that have no name: a sample of everything that it does to files."""
    limit = sized(6, 200)
    killed = traced_crash.everywhere(
        change_all, prepare=prepared, by="file operations", limit=limit, seed=commit_seed()
    )
    for crashed in killed:
        _assert_whole(crashed.arguments[0], str(crashed))


def test_no_step_is_without_a_name(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """Between any two changes that others can see, a failpoint is passed: else add one."""
    for job in (change_all, publish_many):
        location = tmp_path / job.__name__
        (uri,) = prepared(location)
        trace = traced_crash.record(job, uri, root=location)
        last: Operation | None = None
        for number, operation in enumerate(trace.operations):
            if isinstance(operation, Passed):
                last = None
            elif _shows(operation):
                named = (
                    last is None
                    or _may_overlap(last, operation)
                    or _next_passed(trace.operations[number:]) == _INSIDE_LANCE
                )
                assert named, f"nothing is passed between\n  {last}\nand\n  {operation}"
                last = operation


def _next_passed(operations: Sequence[Operation]) -> str | None:
    return next((each.point for each in operations if isinstance(each, Passed)), None)


def _shows(operation: Operation) -> bool:
    """Whether it makes something visible: a version of a dataset, or a ref."""
    if isinstance(operation, Link):
        path = operation.path
    elif isinstance(operation, Rename):
        path = operation.new_path
    else:
        return False
    return ("/_versions/" in path and path.endswith(".manifest")) or "/_refs/branches/" in path


def _may_overlap(first: Operation, second: Operation) -> bool:
    """Whether two tables are committed at the same time, by a thread each."""

    def folder(operation: Operation) -> str:
        path = operation.new_path if isinstance(operation, Rename) else operation.path
        return path.split("/_versions/")[0]

    tables = ("/nodes/", "/edges/")
    return folder(first) != folder(second) and all(
        any(name in folder(each) for name in tables) for each in (first, second)
    )


def test_the_steps_are_those_that_are_declared(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """Each failpoint of publishing that is declared is passed by one of these jobs."""
    passed: set[str] = set()
    for job in (change_all, publish_many):
        passed |= set(omnigraph_crash.points(job, *prepared(tmp_path / job.__name__)))
    prefixes = ("l2.publish.", "l2.pointer.", "l2.log.", "l2.catalog.", "l2.table.committed")
    declared = {name for name in failpoints.declared() if name.startswith(prefixes)}
    assert declared <= passed, declared - passed
