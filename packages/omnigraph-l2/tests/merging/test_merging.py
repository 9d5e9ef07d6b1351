"""Merging as its users meet it: each rule by itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from mergework import COMPANY, KNOWS, PERSON, SCHEMA, ages, edge, put, rows

from omnigraph_l1 import table_path
from omnigraph_l2 import (
    UNRESOLVED,
    EdgeType,
    GraphSchema,
    MergeKind,
    NodeType,
    RegisterTable,
    Repository,
)
from omnigraph_l2.errors import (
    DuplicateValues,
    InvalidData,
    InvalidRequest,
    MergeConflict,
    MergeConflicts,
    UnknownBranch,
    UnknownReference,
)

START = {"ann": 1, "bob": 1, "cat": 1}


def conflicts(repo: Repository, source: str = "side", into: str = "main") -> list[MergeConflict]:
    """Give the conflicts of a merge, which changes nothing."""
    before = repo.snapshot(into)
    with pytest.raises(MergeConflicts) as raised:
        repo.branches.merge(source, into)
    with pytest.raises(MergeConflicts) as dry:
        repo.branches.merge(source, into, dry_run=True)
    assert dry.value.conflicts == raised.value.conflicts
    assert repo.snapshot(into).version == before.version
    return list(raised.value.conflicts)


def kinds(found: list[MergeConflict]) -> dict[Any, str]:
    """Give the kind of each, by row, or by table."""
    return {each.row_id or each.table_key: each.kind.value for each in found}


def test_going_forward(anywhere: Repository) -> None:
    """The target had not moved: it shows what the branch shows, as one commit with two parents."""
    repo = anywhere
    before = repo.log(limit=1)[0]
    made = put(repo, "side", ann=2, dan=4, cat=None)
    assert made is not None
    shown = repo.branches.merge("side", dry_run=True)
    assert repo.log(limit=1) == [before]
    result = repo.branches.merge("side", actor="eve", message="all of it")
    assert result.kind is shown.kind is MergeKind.FAST_FORWARD
    assert result.tables == shown.tables
    told = result.tables[PERSON]
    assert (told.inserted, told.updated, told.deleted) == (1, 1, 1)
    commit = result.commit
    assert commit == repo.log(limit=1)[0]
    assert commit is not None
    assert (commit.parent_commit_id, commit.merged_parent_commit_id) == (
        before.graph_commit_id,
        made.graph_commit_id,
    )
    assert (commit.actor_id, commit.message) == ("eve", "all of it")
    assert result.base_commit_id == before.graph_commit_id
    assert ages(repo) == {"ann": 2, "bob": 1, "dan": 4} == ages(repo, "side")
    assert repo.snapshot().tables[PERSON].table_branch is None


def test_both_moved(anywhere: Repository) -> None:
    """The changes of both are there, also where both did the same."""
    repo = anywhere
    put(repo, "side", ann=2, eve=5)
    put(repo, "main", bob=3, eve=5, cat=None)
    result = repo.branches.merge("side")
    assert result.kind is MergeKind.MERGED
    told = result.tables[PERSON]
    assert (told.inserted, told.updated, told.deleted) == (0, 1, 0)
    assert ages(repo) == {"ann": 2, "bob": 3, "eve": 5}
    assert ages(repo, "side") == {**START, "ann": 2, "eve": 5}


def test_merging_again(repo: Repository) -> None:
    """What was merged is the base from then on; nothing new is nothing written."""
    put(repo, "side", ann=2)
    put(repo, "main", bob=3)
    repo.branches.merge("side")
    version = repo.snapshot().version
    again = repo.branches.merge("side")
    assert (again.kind, again.commit) == (MergeKind.ALREADY_UP_TO_DATE, None)
    assert repo.branches.merge("main").kind is MergeKind.ALREADY_UP_TO_DATE
    assert repo.snapshot().version == version
    put(repo, "main", ann=7)
    put(repo, "side", cat=8)
    assert repo.branches.merge("side").kind is MergeKind.MERGED
    assert ages(repo) == {"ann": 7, "bob": 3, "cat": 8}


def test_two_that_went_forward_to_each_other(repo: Repository) -> None:
    """Are alike: merging them once more writes nothing."""
    put(repo, "side", ann=2)
    assert repo.branches.merge("side").kind is MergeKind.FAST_FORWARD
    for source, into in (("main", "side"), ("side", "main"), ("main", "side")):
        result = repo.branches.merge(source, into)
        assert (result.kind, result.commit) == (MergeKind.ALREADY_UP_TO_DATE, None)


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
    """Where the original program did not say where edges end, any node table will do."""
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


def without(*keys: str, more: tuple[Any, ...] = ()) -> GraphSchema:
    """Give the schema without some types, and with others, or with others of that name."""
    types = {each.table_key: each for each in (*SCHEMA.types, *more)}
    kept = [each for key, each in types.items() if key not in keys]
    return GraphSchema(
        nodes=[each for each in kept if isinstance(each, NodeType)],
        edges=[each for each in kept if isinstance(each, EdgeType)],
    )


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


def test_versions_that_are_handed_over(repo: Repository) -> None:
    """Bringing a branch up to date costs nothing where it has not touched a table."""
    put(repo, "main", ann=2)
    put(repo, "side", COMPANY, other={"name": "Other"})
    result = repo.branches.merge("main", "side")
    told = result.tables[PERSON]
    assert (told.inserted, told.updated, told.deleted) == (None, None, None)
    assert repo.snapshot("side").tables[PERSON] == repo.snapshot().tables[PERSON]
    put(repo, "side", bob=3)
    assert ages(repo, "side") == {**START, "ann": 2, "bob": 3}
    put(repo, "main", cat=4)
    repo.branches.merge("main", "side")
    repo.branches.merge("side")
    assert ages(repo) == ages(repo, "side") == {"ann": 2, "bob": 3, "cat": 4}


def test_branches_of_branches(repo: Repository) -> None:
    """Also into its parent's other child: what the two have in common is found."""
    put(repo, "side", ann=2)
    repo.branches.create("kid", "side")
    repo.branches.create("other")
    put(repo, "kid", bob=3)
    put(repo, "other", cat=4)
    result = repo.branches.merge("kid", "other")
    assert result.kind is MergeKind.MERGED
    assert ages(repo, "other") == {"ann": 2, "bob": 3, "cat": 4}
    repo.branches.merge("side")
    assert repo.branches.merge("other").kind is MergeKind.MERGED
    assert ages(repo) == {"ann": 2, "bob": 3, "cat": 4}


def test_sides_that_merged_each_other_crosswise(repo: Repository) -> None:
    """What was agreed on in both bases is the base; nobody's change comes back."""
    put(repo, "side", ann=2)
    put(repo, "main", bob=3)
    ours, theirs = repo.log()[0].graph_commit_id, repo.log("side")[0].graph_commit_id
    repo.branches.merge(theirs)
    repo.branches.merge(ours, "side")
    put(repo, "side", ann=7)
    put(repo, "main", cat=8)
    repo.branches.merge("side")
    assert ages(repo) == {"ann": 7, "bob": 3, "cat": 8}


@pytest.mark.parametrize("tag", ["kept", None])
def test_a_branch_that_is_gone_since_both_merged_it(repo: Repository, tag: str | None) -> None:
    """What both come from cannot be read: rows that differ are conflicts, none is guessed; unless
    a tag keeps it.
    """
    repo.branches.create("other")
    put(repo, "side", ann=2)
    put(repo, "main", bob=3)
    put(repo, "other", cat=4)
    repo.branches.merge("side")
    repo.branches.merge("side", "other")
    put(repo, "other", ann=1)
    if tag is not None:
        repo.tags.create(tag, "side")
    repo.branches.delete("side", force=tag is not None)
    if tag is not None:
        repo.branches.merge("other")
        assert ages(repo) == {"ann": 1, "bob": 3, "cat": 4}
        return
    assert kinds(conflicts(repo, "other")) == dict.fromkeys(
        ("ann", "bob", "cat"), "divergent_update"
    )
    result = repo.branches.merge("other", strategy="theirs")
    assert result.base_commit_id is None
    assert ages(repo) == {"ann": 1, "bob": 1, "cat": 4}


def test_a_merge_is_younger_than_what_it_merged(repo: Repository) -> None:
    """Whatever the clocks of those who wrote say: by that the base of the next one is found."""
    right = repo._clock
    repo._clock = lambda: right() + timedelta(days=1)
    put(repo, "side", ann=2)
    repo._clock = right
    commit = repo.branches.merge("side").commit
    assert commit is not None
    assert commit.created_at > repo.log("side")[0].created_at


def test_merging_a_tag_or_a_commit(repo: Repository) -> None:
    """Up to there, and no further."""
    made = put(repo, "side", ann=2)
    assert made is not None
    put(repo, "side", bob=3)
    repo.tags.create("good", made.graph_commit_id)
    assert repo.branches.merge("good").kind is MergeKind.FAST_FORWARD
    assert ages(repo) == {**START, "ann": 2}
    assert repo.branches.merge(made.graph_commit_id).kind is MergeKind.ALREADY_UP_TO_DATE


def test_what_cannot_be_merged(repo: Repository) -> None:
    """Typed errors, before anything is done."""
    with pytest.raises(UnknownReference):
        repo.branches.merge("nobody")
    with pytest.raises(UnknownBranch):
        repo.branches.merge("side", "nobody")
    with pytest.raises(InvalidRequest, match="strategy"):
        repo.branches.merge("side", strategy="mine")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="message"):
        repo.branches.merge("side", message=3)  # type: ignore[arg-type]
    run = repo.runs.begin()
    with pytest.raises(InvalidRequest, match="run"):
        repo.branches.merge("side", run.branch)
