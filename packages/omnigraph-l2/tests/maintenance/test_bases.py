"""Branches can be merged, and repositories of another publisher cleaned up, after a cleanup."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from small_graph import PERSON, append, people
from upkeepwork import NOTHING, later

from omnigraph_l2 import Repository

sys.path.insert(0, str(Path(__file__).parent.parent / "opening"))

from other_publisher import OtherPublisher


def clean(repo: Repository, days: float) -> None:
    """Remove what is not needed, so many days later; twice, to be sure."""
    later(repo, days=days)
    for _ in range(2):
        repo.cleanup(NOTHING, dry_run=False)


def test_what_a_merge_starts_from_is_kept(local: Repository) -> None:
    """Where the branch started, and what was merged last, in either direction."""
    append(local, "a")
    append(local, "b")
    local.branches.create("side")
    append(local, "s", branch="side")
    for name in "cd":
        append(local, name)
    clean(local, 8)
    local.branches.merge("side")
    assert people(local) == "a b c d s"
    append(local, "t", branch="side")
    with local.transaction() as tx:
        tx.delete(PERSON, ids=["a"])
    append(local, "e")
    clean(local, 16)
    local.branches.merge("main", into="side")
    assert people(local, "side") == "b c d e s t"
    append(local, "f")
    with local.transaction("side") as tx:
        tx.delete(PERSON, ids=["b"])
    clean(local, 24)
    local.branches.merge("side")
    assert people(local) == "c d e f s t"
    clean(local, 32)
    local.branches.merge("main", into="side")
    assert people(local, "side") == people(local)
    assert local.verify().ok


@pytest.mark.parametrize("middle", ["main", "middle", "deleted"])
def test_two_branches_that_share_an_older_merge(local: Repository, middle: str) -> None:
    """They share what a third branch handed on; it has taken over more since, or is deleted."""
    append(local, "a")
    between = "main" if middle == "main" else "middle"
    for name in {"x", "y", between} - {"main"}:
        local.branches.create(name)
    for name in "zb":
        append(local, name, branch="x")
    local.branches.merge("x", into=between)
    local.branches.merge(between, into="y")
    append(local, "c", branch="y")
    with local.transaction("x") as tx:
        tx.delete(PERSON, ids=["b"])
    append(local, "d", branch="x")
    local.branches.merge("x", into=between)
    append(local, "e", branch="x")
    if middle == "deleted":
        local.branches.delete(between)
    clean(local, 8)
    local.branches.merge("x", into="y")
    assert people(local, "y") == "a c d e z"
    assert local.verify().ok


def test_what_a_diff_of_a_branch_starts_from_is_kept(local: Repository) -> None:
    """The branch against where it started."""
    append(local, "a")
    local.branches.create("side")
    append(local, "b", branch="side")
    append(local, "c", branch="side")
    append(local, "x")
    clean(local, 8)
    found = local.diff("main", "side")
    assert found.tables[PERSON].inserted == 2
    assert found.tables[PERSON].deleted == 1


def test_a_repository_of_another_publisher(tmp_path: Path) -> None:
    """It is cleaned up as any other, and what it shows stays."""
    other = OtherPublisher(tmp_path / "repo")
    other.create()
    other.publish(PERSON, [{"id": "a", "name": "ann"}], "first")
    other.publish(PERSON, [{"id": "b", "name": "bob"}], "second")
    with Repository.open(tmp_path / "repo", durability="none") as repo:
        before = repo.snapshot().read(PERSON).num_rows
        clean(repo, 8)
        assert repo.snapshot().read(PERSON).num_rows == before
        with repo.transaction() as tx:
            tx.append(PERSON, [{"id": "new"}])
        clean(repo, 16)
        assert repo.snapshot().read(PERSON).num_rows == before + 1
