"""A cleanup while what it reads is deleted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest
from each_store import S3_AT_NIGHT
from forced_order import meanwhile
from small_graph import SCHEMA, append, people
from upkeepwork import NOTHING

from omnigraph_l1 import BranchInfo, Removed, Table, VersionFile
from omnigraph_l2 import Repository
from omnigraph_testing import Delay, FaultyS3, Operation, Rule, S3Store

_MOMENTS = pytest.mark.parametrize(
    "point",
    ["names are known", "l2.cleanup.heads_read", "l2.cleanup.planned"],
    ids=["names are known", "heads are read", "needs are known"],
)


@contextmanager
def during_cleanup(point: str, act: Callable[[], object]) -> Iterator[None]:
    """Act in the middle of a cleanup: at a named step, or once native branches are listed."""
    if point.startswith("l2."):
        with meanwhile(point, act):
            yield
        return
    real, acted = Table.branches, []

    def then_act(table: Table) -> dict[str, BranchInfo]:
        found = real(table)
        if not acted:
            acted.append(found)
            act()
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Table, "branches", then_act)
        yield
    assert acted


@_MOMENTS
def test_a_branch_is_deleted(repo: Repository, another: Repository, point: str) -> None:
    """The cleanup leaves it out, and does the rest."""
    append(repo, "a")
    repo.branches.create("side")
    append(repo, "b", branch="side")
    for name in "cde":
        append(repo, name)
    with during_cleanup(point, lambda: another.branches.delete("side")):
        assert repo.cleanup(NOTHING, dry_run=False).failed == 0
    assert people(repo) == "a c d e"
    assert repo.verify().ok


@S3_AT_NIGHT
@_MOMENTS
def test_a_tag_is_deleted_with_its_branch(
    repo: Repository, another: Repository, point: str
) -> None:
    """The same."""
    append(repo, "a")
    repo.branches.create("side")
    append(repo, "b", branch="side")
    repo.tags.create("v1", "side")

    def act() -> None:
        another.tags.delete("v1")
        another.branches.delete("side")

    with during_cleanup(point, act):
        assert repo.cleanup(NOTHING, dry_run=False).failed == 0
    assert people(repo) == "a"
    assert repo.verify().ok


def test_a_branch_is_deleted_before_its_versions_are_listed(
    repo: Repository, another: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of none is of a branch that is gone, and the cleanup does the rest."""
    append(repo, "a")
    native = repo.branches.create("side").native_branch
    append(repo, "b", branch="side")
    real, listed = Table.version_files, []

    def after_it_went(table: Table) -> list[VersionFile]:
        if table.branch == native and not listed:
            another.branches.delete("side")
            listed.append(real(table))
            return listed[0]
        return real(table)

    monkeypatch.setattr(Table, "version_files", after_it_went)
    assert repo.cleanup(NOTHING, dry_run=False).failed == 0
    assert listed == [[]]
    assert people(repo) == "a"
    assert repo.verify().ok


def test_a_branch_is_deleted_while_lance_explains_a_removal(
    faulty_s3: FaultyS3, s3_store: S3Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lance lists the branches of main, then reads each: one that has gone is no damage."""
    explain, is_explaining, deleted = Table.explain_removal, threading.Event(), list[str]()

    def explain_removal(table: Table, versions: Iterable[int]) -> Removed:
        if table.branch is None and table.branches():
            is_explaining.set()
        return explain(table, versions)

    with Repository.init(faulty_s3.uri("repo"), SCHEMA, faulty_s3.storage_options) as repo:
        append(repo, "a")
        repo.branches.create("side")
        append(repo, "b", branch="side")

        def delete_first(operation: Operation) -> bool:
            if is_explaining.is_set() and not deleted:
                deleted.append(operation.key)
                with Repository.open(s3_store.uri("repo"), s3_store.storage_options) as other:
                    other.branches.delete("side")
            return False

        rule = Rule(Delay(0), "GET", key="*/nodes/*/_refs/branches/*", predicate=delete_first)
        faulty_s3.inject(rule)
        monkeypatch.setattr(Table, "explain_removal", explain_removal)
        assert repo.cleanup(NOTHING).failed == 0
        assert deleted
        assert [each.name for each in repo.branches.list()] == ["main"]
