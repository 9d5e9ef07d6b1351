"""Repair: what it mends is as it was, what it cannot it says, and nothing published is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from damages import DAMAGE, ULID
from damagework import (
    KNOWS,
    PERSON,
    SCHEMA,
    ahead,
    append,
    break_all,
    data_files,
    dataset,
    document,
    fill_and_break,
    kinds,
    later,
    mend,
    native,
    update,
)

from omnigraph_l1 import Table, failpoints
from omnigraph_l2 import Repository, Severity
from omnigraph_testing import AtPoint, Crash

MENDED = [
    "a native branch of a table", "a native branch of the dead", "a hole in the log",
    "a note is lost", "a pointer and a log behind", "a pointer at another commit",
    "a torn version", "an actor is lost", "no pointer of main",
]  # fmt: skip


def everything(repo: Repository) -> dict[str, list[dict[str, object]]]:
    """Read all tables of all branches and of the tag."""
    found = {}
    for name in ("main", "side", "v1"):
        snapshot = repo.snapshot(tag="v1") if name == "v1" else repo.snapshot(name)
        for key in snapshot.tables:
            rows = snapshot.read(key).to_pylist()
            found[f"{key} of {name}"] = sorted(rows, key=lambda row: str(row["id"]))
    return found


@pytest.mark.parametrize("name", MENDED)
def test_what_is_mended(repo: Repository, name: str) -> None:
    """First it is only told; then it is done, and nothing is left to be found."""
    damage, expected = DAMAGE[name]
    damage(repo)
    before, log = everything(repo), repo.log()
    plan = repo.repair()
    assert {each.kind for each in plan.actions} == {kind for _, kind in expected}
    assert not any(each.done for each in plan.actions)
    assert set(kinds(repo.verify())) == {kind for _, kind in expected}
    report = repo.repair(dry_run=False)
    assert [each.kind for each in report.actions] == [each.kind for each in plan.actions]
    assert all(each.done for each in report.actions), str(report)
    assert report.ok
    assert repo.verify(dangling_edges=True).findings == ()
    assert repo.repair(dry_run=False).actions == ()
    assert (everything(repo), repo.log()) == (before, log)


@pytest.mark.parametrize("name", sorted(set(DAMAGE) - set(MENDED)))
def test_what_is_not_mended(repo: Repository, name: str) -> None:
    """It is said, and left as it is. (What is only information is nobody's business.)"""
    damage, expected = DAMAGE[name]
    damage(repo)
    report = repo.repair(dry_run=False)
    assert report.actions == ()
    unasked = {
        "duplicate-id",
        "duplicate-value",
        "dangling-edge",
        "null-id",
    }  # verify reads ids, not repair
    told = [one for one in expected if one[0] is not Severity.INFO and one[1] not in unasked]
    assert [(each.severity, each.kind) for each in report.not_mended] == told
    assert report.ok == (not told)
    assert kinds(repo.verify(dangling_edges=True)) == [kind for _, kind in expected]


def test_everything_at_once(repo: Repository) -> None:
    """All of it is mended in one go."""
    before = everything(repo)
    break_all(repo)
    report = later(repo).repair(dry_run=False, align=True)
    assert report.ok, str(report)
    assert all(each.done for each in report.actions), str(report)
    assert {each.kind for each in report.actions} == {
        "actor-missing", "branch-left-over", "log-behind", "pointer-behind", "table-not-at-head",
    }  # fmt: skip
    assert repo.verify(dangling_edges=True).findings == ()
    assert everything(repo) == before


def test_what_a_branch_with_a_lost_catalog_had_is_kept(repo: Repository) -> None:
    """As long as its name is there, somebody may bring the rest back from a copy."""
    name = native(repo)
    DAMAGE["a pointer without branch"][0](repo)
    later(repo).repair(dry_run=False)
    assert name in Table.open(Path(repo.uri) / "_graph_commits.lance").branches()


def test_while_names_cannot_be_read_nothing_is_removed(repo: Repository) -> None:
    """What nobody names is not known then."""
    DAMAGE["a native branch of the dead"][0](repo)
    document(repo, "branches/side").write_text("{")
    later(repo)
    assert repo.repair(dry_run=False).actions == ()
    assert f"gone.{ULID}" in Table.open(Path(repo.uri) / "__manifest").branches()


def test_of_a_damaged_catalog_nothing_is_inferred(repo: Repository) -> None:
    """It shows an older version of a table than was published: that is not made the head."""
    version = repo.snapshot().tables[PERSON].table_version
    ahead(repo)
    where = f"object_type = 'table_version' AND table_key = '{PERSON}'"
    update(repo, f"{where} AND table_version = {version}", row_count="NULL")
    assert not any("of branch main" in each.subject for each in repo.repair(align=True).actions)


def test_a_published_version_is_never_set_aside(tmp_path: Path) -> None:
    """Not even where it looks as if a power cut had left it: its files may come back."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repo:
        append(repo, "ann")
        repo.flush()
        (file,) = data_files(repo, PERSON)
        content = file.read_bytes()
        file.write_bytes(b"")
        with Repository.open(repo.uri, durability="none") as other:
            assert "torn-version" not in kinds(other.verify())
            report = other.repair(dry_run=False)
            assert report.actions == ()
            assert {each.kind for each in report.not_mended} <= {
                "data-unreadable", "table-unreadable",
            }  # fmt: skip
            assert not report.ok
            file.write_bytes(content)
            assert other.verify().findings == ()


def heads(repo: Repository) -> dict[str, tuple[int, int]]:
    """Give, for each table that a branch has written to, its head and what is published."""
    found = {}
    for name, own in (("main", None), ("side", native(repo))):
        for key, entry in repo.snapshot(name).tables.items():
            if entry.table_branch == own:
                head = dataset(repo, entry.table_path, own).latest_version
                found[f"{key} of {name}"] = (head, entry.table_version)
    return found


def test_heads_are_brought_back(repo: Repository) -> None:
    """What is published is the head again, on each branch by one commit; rows are the same."""
    before = everything(repo)
    for branch in ("main", "side"):
        ahead(repo, branch=branch)
    ahead(repo, KNOWS)
    commits = {name: len(repo.log(name)) for name in ("main", "side")}
    assert repo.repair().actions == ()
    report = repo.repair(align=True, dry_run=False)
    assert [(each.kind, each.done) for each in report.actions] == [("table-not-at-head", True)] * 2
    assert all(head == published for head, published in heads(repo).values()), heads(repo)
    assert everything(repo) == before
    for name in ("main", "side"):
        assert len(repo.log(name)) == commits[name] + 1
    assert "repair" in str(repo.log()[0].message)
    append(repo, "gus")
    repo.flush()
    assert repo.verify(dangling_edges=True).findings == ()


@pytest.mark.parametrize("rival", ["a publish", "a head"])
def test_heads_are_brought_back_beside_a_writer(repo: Repository, rival: str) -> None:
    """Its publish stays, and a head that it leaves is brought back too."""
    ahead(repo)
    acts: list[Callable[[], object]] = [
        lambda: append(repo, "gus") if rival == "a publish" else ahead(repo)
    ]

    def handler(point: str) -> None:
        if point == "l2.repair.restored" and acts:
            done = threading.Thread(target=acts.pop())
            done.start()
            done.join()

    with pytest.MonkeyPatch.context() as patched, failpoints.handling(handler):
        patched.setattr("omnigraph_l2._publishing.turns._PATIENCE_SECONDS", 0.0)
        report = repo.repair(align=True, dry_run=False)
    assert report.ok, str(report)
    assert not acts
    assert all(head == published for head, published in heads(repo).values()), heads(repo)
    ids = repo.snapshot().read(PERSON)["id"].to_pylist()
    assert ("gus" in ids) == (rival == "a publish")
    assert len(ids) == len(set(ids))


def test_the_original_program_can_write_again(repo: Repository) -> None:
    """By plain Lance, on the version that is published, which is the head."""
    ahead(repo)
    repo.repair(align=True, dry_run=False)
    entry = repo.snapshot().tables[PERSON]
    theirs = dataset(repo, entry.table_path)
    assert theirs.version == entry.table_version
    assert theirs.count_rows() == entry.row_count


@pytest.mark.integration
def test_killed_at_each_step(crash: Crash) -> None:
    """Nothing that was published is lost, and repairing again mends the rest."""
    trial = crash.directory / "trial"
    trial.mkdir(parents=True)
    (uri,) = fill_and_break(trial)
    outcome = crash.run(mend, uri)
    with Repository.open(uri, durability="none") as repo:
        before = everything(repo)
    declared = {name for name in outcome.declared if name.startswith("l2.repair.")}
    assert len(declared) == 2
    assert declared <= set(outcome.passed)
    chosen = {*declared, *(each for each in outcome.passed if each.startswith("l2.log."))}
    for number, point in enumerate(sorted(chosen)):
        place = crash.directory / f"step-{number}"
        place.mkdir()
        (uri,) = fill_and_break(place)
        crash.run(mend, uri, kill=AtPoint(point))
        with Repository.open(uri, durability="none") as repo:
            assert everything(repo) == before, point
            report = later(repo).repair(dry_run=False, align=True)
            assert report.ok, f"{point}: {report}"
            assert repo.verify(dangling_edges=True).findings == (), point
            assert everything(repo) == before, point
