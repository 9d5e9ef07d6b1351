"""Types and properties that a merge brings, takes away, or cannot agree on."""

from __future__ import annotations

import pyarrow as pa
import pytest
from conflicting import conflicts, kinds
from mergework import COMPANY, KNOWS, PERSON, put, rows, without

from omnigraph_l2 import EdgeType, NodeType, Repository

WORKS = "edge:Works"
PET = NodeType("Pet", {"name": pa.string()}, required=["name"])


def test_types_that_come_and_go(anywhere: Repository) -> None:
    """A type that the branch added comes with its rows, on main's own lineage; others go."""
    repo = anywhere
    repo.evolve(without(WORKS, COMPANY, more=(PET,)), branch="side")
    put(repo, "side", "node:Pet", rex={"name": "Rex"})
    put(repo, "main", ann=2)
    result = repo.branches.merge("side")
    assert {key: (each.added, each.dropped) for key, each in result.tables.items()} == {
        "node:Pet": (True, False),
        COMPANY: (False, True),
        WORKS: (False, True),
    }
    assert result.tables["node:Pet"].inserted == 1
    assert rows(repo, "node:Pet") == {"rex": {"id": "rex", "name": "Rex"}}
    assert repo.snapshot().tables["node:Pet"].table_branch is None
    assert set(repo.snapshot().tables) == {PERSON, KNOWS, "node:Pet"}
    put(repo, "main", "node:Pet", tom={"name": "Tom"})
    assert len(rows(repo, "node:Pet", "side")) == 1


def test_a_type_that_both_added(repo: Repository) -> None:
    """Declared alike, its rows come together; declared differently, it is a conflict."""
    for branch, name in (("side", "Rex"), ("main", "Tom")):
        repo.evolve(without(more=(PET,)), branch=branch)
        put(repo, branch, "node:Pet", **{name: {"name": name}, "both": {"name": "Both"}})
    repo.branches.merge("side")
    assert set(rows(repo, "node:Pet")) == {"Rex", "Tom", "both"}
    repo.evolve(without(more=(PET, NodeType("Car", {"wheels": pa.int8()}))), branch="side")
    repo.evolve(without(more=(PET, NodeType("Car", {"wheels": pa.int16()}))))
    assert kinds(conflicts(repo)) == {"node:Car": "divergent_schema"}
    repo.branches.merge("side", strategy="theirs")
    assert repo.snapshot().schema["node:Car"].properties == {"wheels": pa.int8()}


@pytest.mark.parametrize(("dropped", "changed"), [("side", "main"), ("main", "side")])
def test_a_type_that_one_dropped_and_the_other_changed(
    repo: Repository, dropped: str, changed: str
) -> None:
    """It is a conflict; who wins says whether it is there, with its rows."""
    repo.evolve(without(WORKS, COMPANY), branch=dropped)
    put(repo, changed, COMPANY, other={"name": "Other"})
    assert kinds(conflicts(repo)) == {COMPANY: "drop_vs_change"}
    winner = "theirs" if changed == "side" else "ours"
    repo.branches.merge("side", strategy=winner)
    assert set(rows(repo, COMPANY)) == {"co", "other"}


def test_a_node_type_that_goes_while_the_other_side_adds_edges_to_it(repo: Repository) -> None:
    """The type is a conflict, and stays with its edges or goes with them."""
    repo.evolve(without(WORKS, COMPANY), branch="side")
    repo.evolve(without(WORKS, more=(EdgeType("Owns", "Person", "Company"),)))
    assert kinds(conflicts(repo)) == {COMPANY: "drop_vs_change"}
    kept = repo.branches.merge("side", strategy="ours", dry_run=True)
    assert COMPANY not in kept.tables
    repo.branches.merge("side", strategy="theirs")
    assert set(repo.snapshot().tables) == {PERSON, KNOWS}


def test_properties_that_come_and_go(anywhere: Repository) -> None:
    """Each by itself, and the rows keep their values in all others."""
    repo = anywhere
    person = NodeType("Person", {"age": pa.int32(), "nick": pa.string()})
    repo.evolve(without(more=(person,)), branch="side")
    person = NodeType("Person", {"age": pa.int32(), "city": pa.string(), "tall": pa.bool_()})
    repo.evolve(without(more=(person,)))
    put(repo, "side", bob={"age": 5, "nick": "Bobby"})
    put(repo, "main", ann={"age": 2, "city": "Rome", "tall": True})
    result = repo.branches.merge("side")
    assert result.tables[PERSON].redeclared
    assert rows(repo) == {
        "ann": {"id": "ann", "age": 2, "tall": True, "nick": None},
        "bob": {"id": "bob", "age": 5, "tall": None, "nick": "Bobby"},
        "cat": {"id": "cat", "age": 1, "tall": None, "nick": None},
    }


def test_a_property_that_both_added(repo: Repository) -> None:
    """Of one type it is the same one; of two it is a conflict that names it."""
    for branch, type_ in (("side", pa.int8()), ("main", pa.int16())):
        person = NodeType("Person", {"age": pa.int32(), "city": pa.string(), "size": type_})
        repo.evolve(without(more=(person,)), branch=branch)
    (found,) = conflicts(repo)
    assert (found.kind.value, found.row_id, found.detail) == ("divergent_schema", None, "'size'")
    repo.branches.create("third", repo.log("side")[1].graph_commit_id)
    person = NodeType("Person", {"age": pa.int32(), "city": pa.string(), "size": pa.int16()})
    repo.evolve(without(more=(person,)), branch="third")
    put(repo, "third", ann={"age": 1, "city": "Oslo", "size": 3})
    repo.branches.merge("third")
    assert rows(repo)["ann"]["size"] == 3


def test_a_type_that_the_branch_dropped_and_added_again(repo: Repository) -> None:
    """Its old rows go, its new ones come; also where it is declared differently now."""
    repo.evolve(without(WORKS, COMPANY), branch="side")
    again = NodeType("Company", {"name": pa.string(), "size": pa.int64()}, required=["size"])
    repo.evolve(without(more=(again,)), branch="side")
    put(repo, "side", COMPANY, new={"name": "New", "size": 3})
    put(repo, "main", ann=2)
    result = repo.branches.merge("side")
    assert rows(repo, COMPANY) == {"new": {"id": "new", "name": "New", "size": 3}}
    assert result.tables[COMPANY].redeclared
    put(repo, "side", COMPANY, new={"name": "New", "size": 4})
    repo.branches.merge("side")
    assert rows(repo, COMPANY)["new"]["size"] == 4


def test_edges_of_a_type_that_is_a_conflict_itself(repo: Repository) -> None:
    """Only the types are reported: what becomes of the edges is decided with their type."""
    put(repo, "main", WORKS, new={"src": "bob", "dst": "co"})
    repo.branches.merge("main", into="side")
    repo.evolve(without(WORKS, COMPANY), branch="side")
    put(repo, "main", WORKS, newer={"src": "ann", "dst": "co"})
    assert kinds(conflicts(repo)) == {WORKS: "drop_vs_change", COMPANY: "drop_vs_change"}
    repo.branches.merge("side", strategy="ours")
    assert {"new", "newer"} <= rows(repo, WORKS).keys()
    assert set(rows(repo, COMPANY)) == {"co"}


def test_a_type_that_ours_keeps_keeps_its_nodes(repo: Repository) -> None:
    """Also those of edges that nobody changed: the other side dropped the edges with their type."""
    put(repo, "main", WORKS, old={"src": "bob", "dst": "co"})
    repo.branches.merge("main", into="side")
    repo.evolve(without(WORKS), branch="side")
    put(repo, "side", KNOWS, ab=None)
    put(repo, "side", bob=None)
    put(repo, "main", WORKS, new={"src": "ann", "dst": "co"})
    repo.branches.merge("side", strategy="ours")
    assert rows(repo, WORKS).keys() >= {"old", "new"}
    assert {"ann", "bob"} <= rows(repo, PERSON).keys()
    assert repo.verify(dangling_edges=True).ok
