"""Runs that are at work while their target evolves: they conflict, or fit."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from graphs import PERSON, SCHEMA, like, rows, with_types

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository, Transaction
from omnigraph_l2.errors import InvalidRequest, RunConflict

NEW = {"id": "n", "name": "New", "age": 9}
WORKS = {"id": "w", "src": "a", "dst": "c"}
WIDER = NodeType("Person", {**PERSON.properties, "nick": pa.string()})
WITHOUT_PERSON = with_types(without=("node:Person", "edge:Knows", "edge:Works"))

CONFLICTS: dict[str, tuple[Callable[[Transaction], object], list[GraphSchema]]] = {
    "a column came": (lambda tx: tx.append("node:Person", [NEW]), [with_types(WIDER)]),
    "a column went and came": (
        lambda tx: tx.append("node:Person", [NEW]),
        [with_types(NodeType("Person", {"name": pa.string()})), SCHEMA],
    ),
    "the type went": (lambda tx: tx.append("node:Person", [NEW]), [WITHOUT_PERSON]),
    "the type went and came": (
        lambda tx: tx.append("node:Person", [NEW]),
        [WITHOUT_PERSON, SCHEMA],
    ),
    "the ends changed": (
        lambda tx: tx.append("edge:Works", [WORKS]),
        [with_types(EdgeType("Works", "Company", "Person"))],
    ),
    "the type of an end went": (
        lambda tx: tx.append("edge:Works", [WORKS]),
        [with_types(without=("node:Company", "edge:Works"))],
    ),
    "the type of an end went and came": (
        lambda tx: tx.append("edge:Works", [WORKS]),
        [with_types(without=("node:Company", "edge:Works")), SCHEMA],
    ),
}


@pytest.mark.parametrize(("write", "evolves"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_a_run_that_wrote_what_was_evolved_conflicts(
    repo: Repository, write: Callable[[Transaction], object], evolves: list[GraphSchema]
) -> None:
    """Nothing of it comes in, and the schema stays the evolved one."""
    run = repo.runs.begin()
    with run.transaction() as tx:
        write(tx)
    for schema in evolves:
        repo.evolve(schema)
    before = repo.snapshot()
    with pytest.raises(RunConflict):
        run.publish()
    assert repo.snapshot().tables == before.tables
    assert like(repo.snapshot().schema) == like(evolves[-1])


def test_a_run_that_touched_nothing_of_it_is_published(repo: Repository) -> None:
    """Other types may come, go and change meanwhile."""
    run = repo.runs.begin()
    with run.transaction() as tx:
        tx.append("node:Company", [{"id": "d", "name": "D"}])
    wanted = with_types(WIDER, NodeType("Pet"), without=("edge:Knows",))
    repo.evolve(wanted)
    assert run.publish() is not None
    assert like(repo.snapshot().schema) == like(wanted)
    assert [row["id"] for row in rows(repo, "node:Company")] == ["c", "d"]
    assert [row["id"] for row in rows(repo, "node:Person")] == ["a", "b"]


def test_the_branch_of_a_run_is_not_evolved(repo: Repository) -> None:
    """What a run publishes is rows: columns would be lost on the way."""
    run = repo.runs.begin()
    for try_it in (repo.evolve, repo.plan_evolution):
        with pytest.raises(InvalidRequest, match="a run changes rows only"):
            try_it(with_types(WIDER), branch=run.branch)
    assert like(run.snapshot().schema) == like(SCHEMA)
