"""A cleanup while somebody deletes what it looks at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from small_graph import append, people
from upkeepwork import NOTHING

from omnigraph_l1 import Table, VersionFile
from omnigraph_l2 import Repository
from omnigraph_l2._maintenance import cleaning, survey

_MOMENTS = pytest.mark.parametrize(
    ("module", "step"),
    [(survey, "survey"), (cleaning, "standing"), (cleaning, "look")],
    ids=["names are known", "branches are open", "needs are known"],
)


def meanwhile(
    patch: pytest.MonkeyPatch, module: Any, step: str, act: Callable[[], object]
) -> list[str]:
    """Act right after a step of a cleanup; give the list that then says so."""
    real = getattr(module, step)
    acted: list[str] = []

    def then(*given: Any, **named: Any) -> Any:
        found = real(*given, **named)
        if not acted:
            acted.append(step)
            act()
        return found

    patch.setattr(module, step, then)
    return acted


@_MOMENTS
def test_a_branch_is_deleted(
    repo: Repository,
    another: Repository,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    step: str,
) -> None:
    """The cleanup leaves it out, and does the rest."""
    append(repo, "a")
    repo.branches.create("side")
    append(repo, "b", branch="side")
    for name in "cde":
        append(repo, name)
    acted = meanwhile(monkeypatch, module, step, lambda: another.branches.delete("side"))
    assert repo.cleanup(NOTHING, dry_run=False).failed == 0
    assert acted
    assert people(repo) == "a c d e"
    assert repo.verify().ok


@_MOMENTS
def test_a_tag_is_deleted_with_its_branch(
    repo: Repository,
    another: Repository,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    step: str,
) -> None:
    """The same."""
    append(repo, "a")
    repo.branches.create("side")
    append(repo, "b", branch="side")
    repo.tags.create("v1", "side")

    def act() -> None:
        another.tags.delete("v1")
        another.branches.delete("side")

    acted = meanwhile(monkeypatch, module, step, act)
    assert repo.cleanup(NOTHING, dry_run=False).failed == 0
    assert acted
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
