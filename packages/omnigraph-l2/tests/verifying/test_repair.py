"""Repair: what it mends is as it was, what it cannot it says, and nothing published is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from damages import DAMAGE, ULID
from damagework import (
    PERSON,
    SCHEMA,
    append,
    break_all,
    data_files,
    document,
    fill_and_break,
    kinds,
    later,
    mend,
    native,
)
from killing import killed_at

from omnigraph_l1 import Table
from omnigraph_l2 import Repository
from omnigraph_l2.reports import Severity
from omnigraph_testing import Crash

MENDED = [
    "a deletion cut short", "a hole in the log", "a native branch of a table",
    "a native branch of the dead",
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


def files(repo: Repository) -> dict[Path, tuple[int, int]]:
    """Return size and time of each file, without those of leases and locks."""
    found = [path for path in Path(repo.uri).rglob("*") if path.is_file()]
    facts = {path: path.stat() for path in found if "leases" not in path.parts}
    return {path: (each.st_size, each.st_mtime_ns) for path, each in facts.items()}


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
    before = files(repo)
    report = repo.repair(dry_run=False)
    assert report.actions == ()
    assert files(repo) == before
    unasked = {
        "duplicate-id",
        "duplicate-value",
        "dangling-edge",
        "null-id",
    }  # verify reads ids, not repair
    told = [one for one in expected if one[0] is not Severity.INFO and one[1] not in unasked]
    assert [(each.severity, each.kind) for each in report.not_mended] == told
    assert report.ok == (not told)


def test_everything_at_once(repo: Repository) -> None:
    """All of it is mended in one go."""
    before = everything(repo)
    break_all(repo)
    report = later(repo).repair(dry_run=False)
    assert report.ok, str(report)
    assert all(each.done for each in report.actions), str(report)
    assert {each.kind for each in report.actions} == {
        "actor-missing", "branch-left-over", "log-behind", "pointer-behind",
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


@pytest.mark.integration
def test_killed_at_each_step(omnigraph_crash: Crash) -> None:
    """Nothing that was published is lost, and repairing again mends the rest."""
    trial = omnigraph_crash.directory / "trial"
    trial.mkdir(parents=True)
    (uri,) = fill_and_break(trial)
    outcome = omnigraph_crash.run(mend, uri)
    with Repository.open(uri, durability="none") as repo:
        before = everything(repo)
    declared = {name for name in outcome.declared if name.startswith("l2.repair.")}
    assert len(declared) == 1
    assert declared <= set(outcome.passed)
    chosen = {*declared, *(each for each in outcome.passed if each.startswith("l2.log."))}
    for point, (uri,) in killed_at(omnigraph_crash, mend, fill_and_break, sorted(chosen)):
        with Repository.open(uri, durability="none") as repo:
            assert everything(repo) == before, point
            report = later(repo).repair(dry_run=False)
            assert report.ok, f"{point}: {report}"
            assert repo.verify(dangling_edges=True).findings == (), point
            assert everything(repo) == before, point
