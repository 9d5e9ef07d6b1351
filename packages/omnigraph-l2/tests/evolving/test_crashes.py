"""Evolving that is killed: readers see the schema before or after, and the next one ends it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from graphs import SCHEMA, branched, filled, like, rows, with_types

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


def prepared(place: Path) -> Sequence[str]:
    """A repository in which a type was dropped before, and a dead writer left rows at a head."""
    with Repository.init(place / "r", SCHEMA, durability="none") as repository:
        filled(repository)
        repository.evolve(with_types(NodeType("Animal", {"name": pa.string()})))
        with repository.transaction() as tx:
            tx.append("node:Animal", [{"id": "z", "name": "Zebra"}])
        repository.evolve(SCHEMA)
        branched(repository, BRANCH)
        pinned = repository.snapshot().tables["node:Person"]
        table = Table.open(f"{repository.uri}/{pinned.table_path}")
        table.append(pa.table({"id": ["x"], "name": ["X"], "age": [1]}, schema=table.schema))
    return str(place / "r"), "main"


def prepared_branch(place: Path) -> Sequence[str]:
    """The same, to be evolved on a branch where main has taken the new names already."""
    uri, _ = prepared(place)
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
def test_killed_at_each_named_point(crash: Crash, prepare: object) -> None:
    """SIGKILL at each step of ours, wherever it is passed."""
    uri, branch = prepare(crash.directory / "trial")  # type: ignore[operator]
    passed = crash.points(evolve_it, uri, branch)
    own = [name for name in passed if name.startswith("l2.")]
    assert {"l2.evolve.emptied", "l2.evolve.added", "l2.evolve.dropped"} <= set(own)
    hits: dict[str, int] = {}
    for number, name in enumerate(own):
        hits[name] = hits.get(name, 0) + 1
        place = crash.directory / f"at-{number}"
        uri, branch = prepare(place)  # type: ignore[operator]
        kill = AtPoint(name, hit=hits[name])
        assert crash.run(evolve_it, uri, branch, kill=kill).killed
        assert_ends_well(uri, branch, str(kill))


@pytest.mark.parametrize("limit", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_killed_at_file_operations(crash: Crash, limit: int) -> None:
    """SIGKILL before a file operation, also those that have no name."""
    killed = crash.everywhere(
        evolve_it, prepare=prepared, by="file operations", limit=limit, seed=11
    )
    for crashed in killed:
        uri, branch = crashed.arguments
        assert_ends_well(uri, branch, str(crashed))


def test_killed_again_and_again(crash: Crash) -> None:
    """What each try leaves is taken up by the next one, however many there were."""
    uri, branch = prepared(crash.directory / "again")
    points = ["l2.evolve.created", "l2.evolve.emptied", "l2.table.committed", "l2.publish.planned"]
    for point in points:
        crash.run(evolve_it, uri, branch, kill=AtPoint(point), must_be_killed=False)
    assert_ends_well(uri, branch, "at last")


def test_every_declared_point_is_passed(crash: Crash) -> None:
    """A step that no test is killed at would not be proven."""
    passed = set(crash.points(evolve_it, *prepared(crash.directory / "all")))
    declared = {name for name in failpoints.declared() if name.startswith("l2.evolve.")}
    assert passed >= declared
    assert len(declared) == 5
