"""Evolving that is killed: readers see the schema before or after, and the next one ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from graphs import SCHEMA, branched, filled, like, rows, with_types
from killing import killed_at
from sizes import commit_seed

from campaign.traced_crash import TracedCrash
from omnigraph_l1 import Table, failpoints
from omnigraph_l2 import EdgeType, NodeType, Repository
from omnigraph_testing import AtPoint, Crash

pytestmark = pytest.mark.integration

WANTED = with_types(
    NodeType("Person", {"name": pa.string(), "nick": pa.string()}),
    NodeType("Animal", {"legs": pa.int8()}),
    NodeType("Pet", {"name": pa.string()}, required=["name"]),
    EdgeType("Knows", "Person", "Person", {"since": pa.date32()}, unique=["since"]),
    EdgeType("Works", "Person", "Pet", {"role": pa.string()}),
    without=("node:Company",),
)
BRANCH = "what-if"


def prepared(location: Path) -> Sequence[str]:
    """A repository in which a type was dropped before, and a dead writer left rows at a head."""
    with Repository.init(location / "r", SCHEMA, durability="none") as repository:
        filled(repository)
        repository.evolve(with_types(NodeType("Animal", {"name": pa.string()})))
        with repository.transaction() as tx:
            tx.append("node:Animal", [{"id": "z", "name": "Zebra"}])
        repository.evolve(SCHEMA)
        branched(repository, BRANCH)
        pinned = repository.snapshot().tables["node:Person"]
        table = Table.open(f"{repository.uri}/{pinned.table_path}")
        table.append(pa.table({"id": ["x"], "name": ["X"], "age": [1]}, schema=table.schema))
    return str(location / "r"), "main"


def prepared_branch(location: Path) -> Sequence[str]:
    """The same, to be evolved on a branch where main has taken the new names already."""
    uri, _ = prepared(location)
    with Repository.open(uri, durability="none") as repository:
        repository.evolve(with_types(NodeType("Pet", {"other": pa.int64()})))
        with repository.transaction() as tx:
            tx.append("node:Pet", [{"id": "m", "other": 1}])
    return uri, BRANCH


def evolve_it(uri: str, branch: str) -> None:
    """Evolve in a process of its own."""
    with Repository.open(uri) as repository:
        repository.evolve(WANTED, branch=branch, message="killed or not")


def assert_ends_well(uri: str, branch: str, message: str) -> None:
    """Nothing half is seen, in the next handle the same call works, and then nothing is left."""
    with Repository.open(uri, durability="none") as repository:
        before = repository.snapshot(branch)
        seen = like(before.schema)
        assert seen in (like(SCHEMA), like(WANTED)), message
        people = [row["id"] for row in before.read("node:Person").to_pylist()]
        assert sorted(people) == ["a", "b"], message
        commit = repository.evolve(WANTED, branch=branch)
        assert (commit is None) == (seen == like(WANTED)), message
        assert_evolved(repository, branch, message)
        ids = [each.graph_commit_id for each in repository.log(branch)]
        parents = [each.parent_commit_id for each in repository.log(branch)]
        assert parents == [*ids[1:], None], message
        with repository.transaction(branch=branch) as tx:
            tx.append("node:Pet", [{"id": "p", "name": "Rex"}])
            tx.append("edge:Works", [{"id": "w", "src": "a", "dst": "p", "role": "walks"}])
        with repository.transaction(branch=branch) as tx:
            tx.delete("edge:Works", "true")
        assert repository.evolve(SCHEMA, branch=branch) is not None, message
        assert like(repository.snapshot(branch).schema) == like(SCHEMA), message
        if branch != "main":
            assert rows(repository, "node:Pet") == [{"id": "m", "other": 1}], message


def assert_evolved(repository: Repository, branch: str, message: str) -> None:
    """All of it is there, with the rows that were there and no other."""
    assert like(repository.snapshot(branch).schema) == like(WANTED), message
    assert rows(repository, "node:Person", branch) == [
        {"id": "a", "name": "Ann", "nick": None},
        {"id": "b", "name": "Bob", "nick": None},
    ], message
    edge = {"id": "e", "src": "a", "dst": "b", "since": None}
    assert rows(repository, "edge:Knows", branch) == [edge], message
    for key in ("node:Animal", "node:Pet", "edge:Works"):
        assert rows(repository, key, branch) == [], message


@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(prepared, id="main"),
        pytest.param(prepared_branch, id="branch", marks=pytest.mark.slow),
    ],
)
def test_killed_at_each_named_point(
    omnigraph_crash: Crash, prepare: Callable[[Path], tuple[str, str]]
) -> None:
    """SIGKILL at each step of ours, wherever it is passed."""
    passed = omnigraph_crash.points(evolve_it, *prepare(omnigraph_crash.directory / "trial"))
    own = [name for name in passed if name.startswith("l2.")]
    assert {"l2.evolve.emptied", "l2.evolve.added", "l2.evolve.dropped"} <= set(own)
    hits = [AtPoint(name, hit=own[: at + 1].count(name)) for at, name in enumerate(own)]
    for point, (uri, branch) in killed_at(omnigraph_crash, evolve_it, prepare, hits):
        assert_ends_well(uri, branch, point)


@pytest.mark.parametrize("limit", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_killed_at_file_operations(traced_crash: TracedCrash, limit: int) -> None:
    """SIGKILL before a file operation, also those that have no name."""
    killed = traced_crash.everywhere(
        evolve_it, prepare=prepared, by="file operations", limit=limit, seed=commit_seed()
    )
    for crashed in killed:
        uri, branch = crashed.arguments
        assert_ends_well(uri, branch, str(crashed))


def test_killed_again_and_again(omnigraph_crash: Crash) -> None:
    """What each try leaves is taken up by the next one, however many there were."""
    uri, branch = prepared(omnigraph_crash.directory / "again")
    points = ["l2.evolve.created", "l2.evolve.emptied", "l2.table.committed", "l2.publish.planned"]
    for point in points:
        omnigraph_crash.run(evolve_it, uri, branch, kill=AtPoint(point), must_be_killed=False)
    assert_ends_well(uri, branch, "at last")


def test_every_declared_point_is_passed(omnigraph_crash: Crash) -> None:
    """A step that no test is killed at would not be proven."""
    passed = set(omnigraph_crash.points(evolve_it, *prepared(omnigraph_crash.directory / "all")))
    declared = {name for name in failpoints.declared() if name.startswith("l2.evolve.")}
    assert passed >= declared
    assert len(declared) == 5
