"""Optimizing changes no row, only what they cost; beside whoever writes and reads."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import lance
import pytest
from forced_order import meanwhile
from killing import killed_at, steps_of
from small_graph import PERSON, SCHEMA, append, people
from upkeepwork import (
    NOTHING,
    PEOPLE,
    fill_scattered,
    optimize,
    optimize_on,
    scattered,
    table_versions,
    write_on,
)

from campaign.forked_processes import process_context
from omnigraph_l1 import failpoints, table_path
from omnigraph_l2 import Repository
from omnigraph_l2.errors import CorruptRepository, InvalidRequest, UnknownBranch, UnknownTable
from omnigraph_l2.reports import OptimizeOutcome
from omnigraph_testing import Crash


def test_fragments_are_merged_and_indexes_built(repo: Repository) -> None:
    """As one commit for each table; deleted rows are gone from the files, all others are there."""
    scattered(repo)
    before = people(repo)
    old = repo.snapshot()
    report = repo.optimize(actor="ann")
    done = report.tables[PERSON]
    assert done.outcome is OptimizeOutcome.OPTIMIZED
    assert (done.fragments_before, done.fragments_after) == (6, 1)
    assert done.indexes == ("id_btree",)
    assert set(report.tables["edge:Knows"].indexes) == {"id_btree", "src_btree", "dst_btree"}
    assert report.tables["node:Company"].outcome is OptimizeOutcome.UNCHANGED
    assert [each.message for each in repo.log(limit=2)] == [
        f"optimize {PERSON}",
        "optimize edge:Knows",
    ]
    assert repo.log(limit=1)[0].actor_id == "ann"
    table = repo.snapshot()._open(PERSON)
    assert table.dataset.count_rows() == sum(
        each.physical_rows for each in table.dataset.get_fragments()
    )
    assert people(repo) == before
    assert " ".join(sorted(old.read(PERSON)["id"].to_pylist())) == before
    assert repo.verify().ok


def test_a_second_time_there_is_nothing_to_do(repo: Repository) -> None:
    """Nothing is published, until something is written."""
    scattered(repo)
    repo.optimize()
    commits = len(repo.log())
    again = repo.optimize()
    assert {each.outcome for each in again.tables.values()} == {OptimizeOutcome.UNCHANGED}
    assert len(repo.log()) == commits
    append(repo, "new")
    assert repo.optimize([PERSON]).tables[PERSON].indexes == ("id_btree",)
    assert len(repo.log()) == commits + 2


def test_a_branch_is_optimized_by_itself(local: Repository) -> None:
    """What it only shows of its parent is left to that."""
    scattered(local)
    local.branches.create("side")
    report = local.optimize(branch="side")
    assert {each.outcome for each in report.tables.values()} == {OptimizeOutcome.INHERITED}
    append(local, "s", branch="side")
    main = people(local)
    assert local.optimize(branch="side").tables[PERSON].outcome is OptimizeOutcome.OPTIMIZED
    assert people(local, "side") == " ".join(sorted([*main.split(), "s"]))
    assert people(local) == main
    assert local.branches.merge("side").commit is not None
    assert people(local) == people(local, "side")


def test_a_branch_of_what_has_indexes(repo: Repository) -> None:
    """On the branch rows are found and changed by their ids as before, by itself and by a merge."""
    scattered(repo)
    repo.optimize()
    repo.branches.create("side")
    with repo.transaction("side") as tx:
        tx.delete(PERSON, ids=["b2", "e2", "f2"])
    append(repo, "x", "y", branch="side")
    append(repo, "z", branch="side")
    repo.optimize(branch="side")
    with repo.transaction("side") as tx:
        tx.upsert(PERSON, [{"id": "a2", "age": 9}, {"id": "z", "age": 9}])
    assert repo.snapshot("side").find(PERSON, ["a2", "z", "b2"]).num_rows == 2
    assert people(repo, "side") == "a a2 b c d e f x y z"
    repo.branches.merge("side")
    assert people(repo) == "a a2 b c d e f x y z"
    assert repo.snapshot().find(PERSON, ["a2", "z", "b2"])["age"].to_pylist() == [9, 9]
    assert repo.verify(dangling_edges=True).ok


def test_a_stranger_at_the_head_stays_out(local: Repository) -> None:
    """Rows that nobody published do not come in with the compacted version."""
    scattered(local)
    before = people(local)
    table = local._root.open(PEOPLE)
    table.append(table.read(limit=1))
    local.optimize()
    assert people(local) == before


def test_a_writer_that_was_faster(local: Repository, impatient: None) -> None:
    """It wins; the table is compacted again, with what it wrote, or told as busy."""
    scattered(local)
    with Repository.open(local.uri, durability="none") as other:
        turns: list[int] = []

        def faster(point: str) -> None:
            if point == "l2.optimize.compacted" and len(turns) < most:
                turns.append(1)
                with failpoints.handling(lambda _: None):
                    append(other, f"fast{len(turns)}")

        most = 2
        with failpoints.handling(faster):
            assert local.optimize([PERSON]).tables[PERSON].outcome is OptimizeOutcome.OPTIMIZED
        most = 100
        append(other, "more")
        with failpoints.handling(faster):
            report = local.optimize([PERSON])
        assert report.busy == (PERSON,)
        assert len(turns) == 2 + 4
        assert {"fast1", "fast2", "fast6", "more"} <= set(people(other).split())


def test_odd_arguments(local: Repository) -> None:
    """Each is told for what it is."""
    with pytest.raises(UnknownTable):
        local.optimize(["node:Nobody"])
    with pytest.raises(UnknownBranch):
        local.optimize(branch="nowhere")
    with pytest.raises(InvalidRequest):
        local.optimize("node:Person")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest):
        local.optimize(target_rows=0)


@pytest.mark.integration
def test_killed_at_each_step(omnigraph_crash: Crash) -> None:
    """The rows are the same, others can write, and another optimize ends it."""
    steps = steps_of(omnigraph_crash, optimize, fill_scattered)
    mine = [each for each in steps if each.startswith("l2.optimize.")]
    assert len(mine) == 3
    points = [*mine, "l2.publish.planned", "l2.publish.visible"]
    for point, (uri,) in killed_at(omnigraph_crash, optimize, fill_scattered, points):
        with Repository.open(uri, durability="none") as repo:
            before = people(repo)
            append(repo, "after")
            report = repo.optimize()
            assert not report.busy, point
            assert people(repo) == " ".join(sorted([*before.split(), "after"])), point
            assert len(repo.snapshot()._open(PERSON).fragments()) <= 2, point
            assert repo.verify().ok, point


@pytest.mark.integration
def test_beside_writers_and_a_cleanup(tmp_path: Path) -> None:
    """No row is lost, and none comes twice."""
    uri = str(tmp_path / "repo")
    with Repository.init(uri, SCHEMA, durability="none") as repo:
        append(repo, "first")
    with ProcessPoolExecutor(3, mp_context=process_context()) as pool:
        upkeep = pool.submit(optimize_on, uri, 6)
        writers = [pool.submit(write_on, uri, None, number, 12) for number in range(2)]
        assert [each.result() for each in writers] == [12, 12]
        assert upkeep.result() >= 0
    with Repository.open(uri) as repo:
        gone = {turn - 2 for turn in range(0, 12, 3)}
        wanted = {f"{n}-{turn}" for n in range(2) for turn in range(-1, 12) if turn not in gone}
        assert people(repo).split() == sorted({"first"} | wanted)
        assert repo.verify().ok
        repo.optimize()
        repo.cleanup(NOTHING, dry_run=False)
        assert len(table_versions(repo)) == 1
        assert people(repo).split() == sorted({"first"} | wanted)


@pytest.mark.parametrize("point", ["l2.optimize.compacted", "l2.optimize.indexed"])
def test_the_branch_is_deleted_meanwhile(repo: Repository, another: Repository, point: str) -> None:
    """It is told as that, wherever this stands."""
    append(repo, "a")
    repo.branches.create("side")
    append(repo, "b", branch="side")
    append(repo, "c", branch="side")
    with (
        meanwhile(point, lambda: another.branches.delete("side")),
        pytest.raises(UnknownBranch) as told,
    ):
        repo.optimize(branch="side")
    assert told.value.branch == "side"


@pytest.mark.parametrize("path", ["__manifest", "_graph_commits.lance", table_path("edge:Knows")])
def test_a_table_that_names_another_dataset(local: Repository, path: str) -> None:
    """A crafted catalog cannot make any operation change the catalog, the log or another table."""
    scattered(local)
    local.flush()
    uri = local.uri
    local.close()
    catalog = lance.dataset(f"{uri}/__manifest")
    catalog.update({"location": f"'{path}'"}, where=f"object_id = '{PERSON}'")
    before = {each: lance.dataset(f"{uri}/{each}").version for each in ("__manifest", path)}
    with pytest.raises(CorruptRepository, match=path), Repository.open(uri) as crafted:
        crafted.optimize()
    assert {each: lance.dataset(f"{uri}/{each}").version for each in before} == before
