"""Updates and deletes that many writers stage: the same as one transaction's own, and checked."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from killing import each_step
from sizes import sized
from stagework import deletes, everything, person, staged_job, start, upserts
from tx_support import CITY, KNOWS, PERSON, add, edge, ids, made

from omnigraph_l2 import Repository, StagedChange, Transaction
from omnigraph_l2.errors import (
    DanglingEdges,
    DuplicateIds,
    ExpectedVersionMismatch,
    InvalidData,
    InvalidRequest,
    OmniGraphError,
)
from omnigraph_testing import Crash

ADDRESS = "_rowaddr"
_IDS = ["a", "b", *(f"p{number}" for number in range(6))]


@settings(max_examples=sized(4, 15), deadline=None)
@given(data=st.data())
def test_the_same_as_an_upsert_and_a_delete(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Rows, row ids kept, diff and feed: whoever wrote them, and whatever columns they lack."""
    names = data.draw(st.lists(st.sampled_from(_IDS), unique=True))
    gone = data.draw(st.lists(st.sampled_from(_IDS), unique=True))
    lacks_age = data.draw(st.booleans())
    columns = ["id", "name"] if lacks_age else ["id", "name", "age"]
    rows = [{column: person(name, 7)[column] for column in columns} for name in names]
    cut = data.draw(st.integers(0, len(rows)))
    place = tmp_path_factory.mktemp("both")
    with made(place / "one") as plain, made(place / "two") as staged:
        for repo in (plain, staged):
            with repo.transaction() as tx:
                tx.delete(KNOWS, ids=["e"])
                tx.append(PERSON, [person(f"p{number}", number) for number in range(4)])
        with plain.transaction() as tx:
            tx.upsert(PERSON, pa.Table.from_pylist(rows, _schema(columns)))
        with staged.transaction() as tx:
            halves = [
                pa.Table.from_pylist(half, _schema(columns)) for half in (rows[:cut], rows[cut:])
            ]
            tx.change_staged(PERSON, upserts(tx, PERSON, *halves))
        with plain.transaction() as tx:
            tx.delete(PERSON, ids=gone)
        with staged.transaction() as tx:
            tx.change_staged(PERSON, deletes(tx, PERSON, gone[:1], gone))
        for back in (1, 0):
            told = [
                (everything(repo, version=repo.snapshot().version - back), _diff(repo, back))
                for repo in (plain, staged)
            ]
            assert told[0] == told[1]
        assert _row_ids(staged) == _row_ids(plain)


def _schema(columns: list[str]) -> pa.Schema:
    kinds = {"id": pa.string(), "name": pa.string(), "age": pa.int32()}
    return pa.schema([pa.field(name, kinds[name]) for name in columns])


def _diff(repo: Repository, back: int) -> Any:
    newest = repo.snapshot().version
    diff = repo.diff(newest - back - 1, newest - back)
    return {key: (each.inserted, each.updated, each.deleted) for key, each in diff.tables.items()}


def _row_ids(repo: Repository) -> dict[str, int]:
    found = repo.snapshot().dataset(PERSON).to_table(columns=["id", "_rowid"]).to_pylist()
    return {row["id"]: row["_rowid"] for row in found if row["id"] in "ab"}


def test_places_that_come_with_rows(repo: Repository) -> None:
    """They are believed where they are right; null is a new row."""
    with repo.transaction() as tx:
        target = tx.stage_changes(PERSON)
        located = {row["id"]: row[ADDRESS] for row in target.locate(["a", "b", "no"]).to_pylist()}
        assert sorted(located) == ["a", "b"]
        places = pa.array([located["b"], None], pa.int64())
        rows = pa.table({"id": ["b", "c"], "age": pa.array([5, 6], pa.int32()), ADDRESS: places})
        done = target.upsert(rows)
        assert (done.rows_updated, done.rows_inserted, done.rows_deleted) == (1, 1, 0)
        assert done.size_bytes > 0
        tx.change_staged(PERSON, done)
        with pytest.raises(InvalidRequest, match="of other rows"):
            target.upsert(rows.set_column(2, ADDRESS, pa.array([located["a"], None], pa.int64())))
        with pytest.raises(InvalidRequest, match="of other rows"):
            target.delete(rows.select(["id", ADDRESS]).set_column(0, "id", [["a", "c"]]))
    assert {name: row["age"] for name, row in everything(repo).items()} == {"a": 1, "b": 5, "c": 6}


def test_a_target_shows_nothing_and_travels(repo: Repository) -> None:
    """Neither does what it gives back."""
    with repo.transaction() as tx:
        target = tx.stage_changes(PERSON)
        staged = target.upsert([person("x")])
    for each in (target, staged):
        assert pickle.loads(pickle.dumps(each)) == each
        assert repo.uri not in repr(each)
    assert target.table_version == repo.snapshot().tables[PERSON].table_version


def _twice(tx: Transaction, *parts: list[Any]) -> None:
    tx.change_staged(PERSON, upserts(tx, PERSON, *parts))


WRONG: dict[str, tuple[type[OmniGraphError], str, Callable[[Transaction], Any]]] = {
    "a new id in two parts": (
        DuplicateIds, "'x'", lambda tx: _twice(tx, [person("x")], [person("x")]),
    ),
    "a new id twice in one": (
        DuplicateIds, "'x'", lambda tx: _twice(tx, [person("x"), person("x")]),
    ),
    "an id that is there, in two parts": (
        InvalidData, "more than once with 'a'", lambda tx: _twice(tx, [person("a")], [person("a")]),
    ),
    "an id that is there, twice in one": (
        InvalidData, "more than once with 'a'", lambda tx: _twice(tx, [person("a"), person("a")]),
    ),
    "said to be new, and is not": (
        DuplicateIds,
        "'a'",
        lambda tx: tx.change_staged(
            PERSON,
            tx.stage_changes(PERSON).upsert(
                pa.table({"id": ["a"], ADDRESS: pa.array([None], pa.uint64())})
            ),
        ),
    ),
    "appended by the transaction itself": (
        DuplicateIds,
        "'x'",
        lambda tx: (tx.append(PERSON, [person("x")]), _twice(tx, [person("x")])),
    ),
    "an edge to nowhere": (
        DanglingEdges,
        "'no'",
        lambda tx: tx.change_staged(KNOWS, upserts(tx, KNOWS, [edge("e", "a", "no")])),
    ),
    "a node that an edge needs": (
        DanglingEdges, "'b'", lambda tx: tx.change_staged(PERSON, deletes(tx, PERSON, ["b"])),
    ),
    "a node replaced away": (
        DanglingEdges,
        "'b'",
        lambda tx: tx.overwrite_staged(PERSON, tx.stage(PERSON).write([person("a")])),
    ),
    "overwritten by one id twice": (
        DuplicateIds,
        "'x'",
        lambda tx: tx.overwrite_staged(CITY, [tx.stage(CITY).write([{"id": "x"}])for _ in "12"]),
    ),
    "of another table": (
        InvalidRequest,
        "written for node:Person",
        lambda tx: tx.change_staged(CITY, upserts(tx, PERSON, [person("x")])),
    ),
    "of another kind": (
        InvalidRequest,
        "what ChangeTarget.write returned",
        lambda tx: tx.change_staged(PERSON, tx.stage(PERSON).write([person("x")])),
    ),
    "a version to come": (
        InvalidRequest, "checked_at", lambda tx: tx.change_staged(PERSON, [], checked_at=10**6),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "words", "wrong"), WRONG.values(), ids=WRONG)
def test_they_are_held_to_the_same_rules(
    repo: Repository,
    kind: type[OmniGraphError],
    words: str,
    wrong: Callable[[Transaction], Any],
) -> None:
    """What is wrong is named, and nothing is published."""
    before = repo.snapshot().version
    with pytest.raises(kind, match=words), repo.transaction() as tx:
        wrong(tx)
    assert repo.snapshot().version == before


def test_taken_in_by_a_later_transaction(repo: Repository) -> None:
    """As where planning and committing are processes of their own: what was pinned still holds."""
    with repo.transaction() as tx:
        target, at = tx.stage_changes(PERSON), tx.snapshot.version
    parts: list[StagedChange] = [target.upsert([person("a", 9)]), target.delete(["b"])]
    add(repo, "theirs")
    with repo.transaction() as tx:
        tx.delete(KNOWS, ids=["e"])
        tx.change_staged(PERSON, parts, checked_at=at)
    assert ids(repo, PERSON) == ["a", "theirs"]
    with pytest.raises(ExpectedVersionMismatch), repo.transaction() as tx:
        tx.change_staged(PERSON, parts[:1])


def test_on_branches(repo: Repository) -> None:
    """A branch is changed alone, merges back, and the feed tells it."""
    repo.branches.create("side")
    with repo.transaction("side") as tx:
        tx.change_staged(PERSON, upserts(tx, PERSON, [person("a", 9), person("c", 3)]))
        tx.change_staged(KNOWS, deletes(tx, KNOWS, ["e"]))
    assert ids(repo, PERSON) == ["a", "b"]
    with repo.transaction() as tx:
        tx.change_staged(PERSON, upserts(tx, PERSON, [person("b", 7)]))
    repo.branches.merge("side")
    assert {name: row["age"] for name, row in everything(repo).items()} == {"a": 9, "b": 7, "c": 3}
    assert ids(repo, KNOWS) == []
    *_, last = repo.changes()
    told = last.diff.tables[PERSON]
    assert (told.inserted, told.updated, told.deleted) == (1, 1, 0)
    repo.flush()
    assert not repo.verify().findings


def test_looking_at_work_from_elsewhere(repo: Repository) -> None:
    """Before and after are both there to be read, and a lost race is run again all the same."""
    with repo.transaction() as tx:
        tx.change_staged(
            PERSON,
            upserts(tx, PERSON, [person("a", 9), person("c")]),
            checked_at=tx.snapshot.version,
        )
        work = pickle.loads(pickle.dumps(tx.share(PERSON)))
        add(repo, "theirs")
    ends = (work.before.scan(), work.after.scan())
    assert [sorted(end.read_all()["id"].to_pylist()) for end in ends] == [["a", "b"], list("abc")]
    written = [work.after.scan(fragments=which) for which in (work.written, work.added)]
    assert [sorted(some.read_all()["id"].to_pylist()) for some in written] == [["a", "c"], ["c"]]
    assert ids(repo, PERSON) == ["a", "b", "c", "theirs"]


def test_columns_are_checked_before_anything_is_written(repo: Repository) -> None:
    """Every problem at once."""
    wrong = pa.schema([("id", pa.binary()), ("name", pa.string()), ("more", pa.int8())])
    with repo.transaction() as tx:
        for target in (tx.stage(PERSON), tx.stage_changes(PERSON)):
            with pytest.raises(InvalidData) as told:
                target.check(wrong)
            assert {each.column for each in told.value.problems} == {"id", "more"}
            target.check(wrong.remove(2).set(0, pa.field("id", pa.large_string())))


def test_reading_what_was_staged(repo: Repository) -> None:
    """The transaction sees it."""
    with repo.transaction() as tx:
        tx.change_staged(PERSON, upserts(tx, PERSON, [person("a", 9)]))
        assert tx.read(PERSON, filter="age = 9")["id"].to_pylist() == ["a"]


@pytest.mark.integration
def test_killed_at_each_step(omnigraph_crash: Crash) -> None:
    """All of it or nothing; and the next one does it."""
    done = {True: 0, False: 0}
    for point, (uri,) in each_step(omnigraph_crash, staged_job, start):
        with Repository.open(uri, durability="none") as repo:
            happened = ids(repo, PERSON) == ["a", "b", "c", "d"]
            assert ids(repo, KNOWS) == (["f"] if happened else ["e"]), point
            assert happened or ids(repo, PERSON) == ["a", "b"], point
        if not happened:
            staged_job(uri)
        with Repository.open(uri, durability="none") as repo:
            assert everything(repo)["a"]["age"] == 9, point
            assert ids(repo, KNOWS) == ["f"], point
        done[happened] += 1
    assert all(done.values())
