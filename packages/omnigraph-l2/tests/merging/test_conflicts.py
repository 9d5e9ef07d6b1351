"""What both sides changed: which conflicts there are, and who decides them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from conflicting import conflicts, kinds
from mergework import COMPANY, KNOWS, PERSON, START, ages, edge, put, rows, without

from omnigraph_l1 import table_path
from omnigraph_l2 import UNRESOLVED, NodeType, RegisterTable, Repository
from omnigraph_l2.errors import DuplicateValues, InvalidData, MergeConflict, MergeConflicts


def test_rows_that_both_changed(repo: Repository) -> None:
    """Each is listed with the rows of both sides and of the base; nothing is done."""
    for branch in ("main", "side"):
        put(repo, branch, KNOWS, ab=None)
    put(repo, "side", ann=2, bob=None, cat=7, new=1)
    put(repo, "main", ann=3, bob=5, cat=None, new=2)
    found = conflicts(repo)
    assert kinds(found) == {
        "ann": "divergent_update",
        "bob": "delete_vs_update",
        "cat": "delete_vs_update",
        "new": "divergent_insert",
    }
    ann, bob, cat, new = sorted(found, key=lambda each: str(each.row_id))
    assert ann.table_key == PERSON
    assert [each and each["age"] for each in (ann.base, ann.ours, ann.theirs)] == [1, 3, 2]
    assert [each and each["age"] for each in (bob.base, bob.ours, bob.theirs)] == [1, 5, None]
    assert [each and each["age"] for each in (cat.base, cat.ours, cat.theirs)] == [1, None, 7]
    assert [each and each["age"] for each in (new.base, new.ours, new.theirs)] == [None, 2, 1]


def test_the_message_tells_the_first_and_the_count(repo: Repository) -> None:
    """It can be read, however many there are."""
    put(repo, "side", **{f"p{number}": 1 for number in range(9)})
    put(repo, "main", **{f"p{number}": 2 for number in range(9)})
    with pytest.raises(MergeConflicts, match=r"9 conflicts: .*and 4 more\. Nothing was changed"):
        repo.branches.merge("side")


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("ours", {"ann": 3, "bob": 5, "new": 2, "more": 1}),
        ("theirs", {"ann": 2, "cat": 7, "new": 1, "more": 1}),
    ],
)
def test_a_side_that_wins(repo: Repository, strategy: Any, expected: dict[str, int]) -> None:
    """It decides conflicts only; what is none is merged."""
    for branch in ("main", "side"):
        put(repo, branch, KNOWS, ab=None)
    put(repo, "side", ann=2, bob=None, cat=7, new=1, more=1)
    put(repo, "main", ann=3, bob=5, cat=None, new=2)
    result = repo.branches.merge("side", strategy=strategy)
    assert ages(repo) == expected
    assert len(result.resolved) == 4


def test_a_function_that_decides(repo: Repository) -> None:
    """It is given each conflict, and gives the row, None, or leaves it."""
    put(repo, "side", ann=2, cat=7, new=1)
    put(repo, "main", ann=3, cat=8, new=2)
    asked: list[MergeConflict] = []

    def older(conflict: MergeConflict) -> Any:
        asked.append(conflict)
        assert conflict.ours is not None
        assert conflict.theirs is not None
        if conflict.row_id == "cat":
            return None
        return max(conflict.ours, conflict.theirs, key=lambda row: row["age"])

    result = repo.branches.merge("side", strategy=older)
    assert ages(repo) == {"ann": 3, "bob": 1, "new": 2}
    assert list(result.resolved) == asked
    assert {each.row_id for each in asked} == {"ann", "cat", "new"}


def test_a_function_that_does_not_know(repo: Repository) -> None:
    """What it leaves is a conflict, with nothing done; what it raises comes out."""
    put(repo, "side", ann=2, bob=2)
    put(repo, "main", ann=3, bob=3)

    def unsure(conflict: MergeConflict) -> Any:
        return UNRESOLVED if conflict.row_id == "bob" else conflict.theirs

    with pytest.raises(MergeConflicts) as raised:
        repo.branches.merge("side", strategy=unsure)
    assert [each.row_id for each in raised.value.conflicts] == ["bob"]

    def broken(conflict: MergeConflict) -> Any:
        raise LookupError(conflict.row_id)

    with pytest.raises(LookupError):
        repo.branches.merge("side", strategy=broken)
    assert ages(repo) == {**START, "ann": 3, "bob": 3}


@pytest.mark.parametrize("answer", [{"id": "other"}, {"id": "ann", "age": "old"}, 3, []])
def test_a_function_that_gives_no_such_row(repo: Repository, answer: Any) -> None:
    """What it gives is the row of that id, in the columns of the table."""
    put(repo, "side", ann=2)
    put(repo, "main", ann=3)
    with pytest.raises(InvalidData):
        repo.branches.merge("side", strategy=lambda _: answer)
    assert ages(repo)["ann"] == 3


def test_an_edge_to_a_node_that_the_target_deleted(repo: Repository) -> None:
    """It is a conflict: there is nothing to point to."""
    put(repo, "side", KNOWS, ac=edge("ann", "cat"), ca=edge("cat", "ann"), ba=edge("bob", "ann"))
    put(repo, "main", cat=None)
    found = conflicts(repo)
    assert kinds(found) == {"ac": "orphan_edge", "ca": "orphan_edge"}
    assert {each.detail for each in found} == {"its dst is 'cat'", "its src is 'cat'"}
    assert all(each.ours is None and each.theirs for each in found)


def test_a_node_that_goes_while_the_target_points_to_it(repo: Repository) -> None:
    """It is a conflict too, also where the table of edges was not touched on the other side."""
    put(repo, "main", KNOWS, ac=edge("ann", "cat"))
    put(repo, "side", cat=None)
    (found,) = conflicts(repo)
    assert (found.table_key, found.row_id, found.kind.value) == (KNOWS, "ac", "orphan_edge")
    assert (found.ours is not None, found.theirs) == (True, None)


@pytest.mark.parametrize(
    ("strategy", "people", "edges"),
    [
        ("ours", {"ann", "bob", "cat"}, {"ab", "ac"}),
        ("theirs", {"ann", "bob", "dan"}, {"ab", "da"}),
    ],
)
def test_a_side_that_wins_gets_edge_and_node_alike(
    repo: Repository, strategy: Any, people: set[str], edges: set[str]
) -> None:
    """Nothing dangles: the node stays with its edge, or both go."""
    put(repo, "main", dan=1)
    repo.branches.merge("main", "side")
    put(repo, "main", KNOWS, ac=edge("ann", "cat"))
    put(repo, "main", dan=None)
    put(repo, "side", cat=None)
    put(repo, "side", KNOWS, da=edge("dan", "ann"))
    result = repo.branches.merge("side", strategy=strategy)
    assert set(rows(repo)) == people
    assert set(rows(repo, KNOWS)) == edges
    assert {each.row_id for each in result.resolved} == {"ac", "da"}


def test_a_function_that_lets_edges_go(repo: Repository) -> None:
    """It is asked about the edge, and may give it another end; one that dangles again is none."""
    put(repo, "side", KNOWS, ac=edge("ann", "cat"), cc=edge("cat", "cat"))
    put(repo, "main", cat=None)
    result = repo.branches.merge(
        "side",
        strategy=lambda found: None if found.row_id == "cc" else {**found.theirs, "dst": "bob"},
    )
    assert len(result.resolved) == 2
    assert rows(repo, KNOWS)["ac"]["dst"] == "bob"
    assert set(rows(repo, KNOWS)) == {"ab", "ac"}
    put(repo, "side", KNOWS, bc=edge("bob", "cat"))
    with pytest.raises(MergeConflicts):
        repo.branches.merge("side", strategy=lambda found: found.theirs)


def test_edges_that_may_end_anywhere(repo: Repository) -> None:
    """Where another publisher did not record where edges end, any node table will do."""
    for branch in ("main", "side"):
        register = RegisterTable(table_key=KNOWS, table_path=table_path(KNOWS), metadata={})
        repo.publish([register], branch=branch)
    put(repo, "side", KNOWS, to_co=edge("ann", "co"), to_cat=edge("ann", "cat"))
    put(repo, "main", cat=None)
    assert kinds(conflicts(repo)) == {"to_cat": "orphan_edge"}
    put(repo, "main", COMPANY, cat={"name": "Cat & Co"})
    repo.branches.merge("side")
    assert set(rows(repo, KNOWS)) == {"ab", "to_co", "to_cat"}
    put(repo, "side", KNOWS, to_co=None)
    put(repo, "side", COMPANY, co=None)
    put(repo, "main", KNOWS, more=edge("bob", "co"))
    assert kinds(conflicts(repo)) == {"more": "orphan_edge"}


def test_unique_values_stay_unique(repo: Repository) -> None:
    """Two sides that each added one of them are refused, and nothing is done."""
    person = NodeType("Person", {"age": pa.int32(), "city": pa.string()}, unique=["city"])
    for branch in ("main", "side"):
        with repo.transaction(branch) as tx:
            tx.delete(KNOWS, "true")
            tx.delete(PERSON, "true")
    repo.evolve(without(more=(person,)))
    put(repo, "main", x={"age": 1, "city": "Rome"})
    put(repo, "side", y={"age": 1, "city": "Rome"})
    with pytest.raises(DuplicateValues):
        repo.branches.merge("side")
    put(repo, "side", y={"age": 1, "city": "Oslo"})
    repo.branches.merge("side")
    assert {row["city"] for row in rows(repo).values()} == {"Rome", "Oslo"}
    assert repo.snapshot().schema[PERSON].unique == ("city",)
