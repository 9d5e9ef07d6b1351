"""What the name of a branch means, where several move it, remove it, and make it again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forced_order import meanwhile
from small_graph import append, people

from omnigraph_l2 import Repository

pytestmark = pytest.mark.usefixtures("impatient")


@pytest.fixture
def mine(local: Repository) -> Repository:
    """A repository with a branch ``side``, as one process has it."""
    local.branches.create("side")
    append(local, "cat", branch="side")
    return local


@pytest.fixture
def theirs(mine: Repository) -> Iterator[Repository]:
    """The same as another process has it."""
    with Repository.open(mine.uri, durability="none") as other:
        yield other


def pointer(repo: Repository) -> dict[str, Any]:
    """Read the pointer of the branch."""
    found: dict[str, Any] = json.loads(Path(repo.uri, "_refs/branches/side.json").read_text())
    return found


def test_it_only_moves_on(mine: Repository, theirs: Repository) -> None:
    """The slower of two publishes leaves the pointer at the newer commit."""
    newer = []
    with meanwhile(
        "l2.publish.visible", lambda: newer.append(append(theirs, "eve", branch="side"))
    ):
        append(mine, "dan", branch="side")
    assert pointer(mine)["head_commit_id"] == newer[0].graph_commit_id
    assert pointer(mine)["manifest_version"] == newer[0].manifest_version
    newest = append(mine, "fay", branch="side")
    assert pointer(mine)["head_commit_id"] == newest.graph_commit_id


def make_again(repo: Repository) -> None:
    """Delete the branch, and make another of its name."""
    repo.branches.delete("side")
    repo.branches.create("side")
    append(repo, "new", branch="side")


@pytest.mark.parametrize("act", [make_again, lambda repo: repo.branches.delete("side")])
def test_a_late_writer_leaves_the_name_alone(
    mine: Repository, theirs: Repository, act: Callable[[Repository], None]
) -> None:
    """It neither moves the pointer of another branch nor brings a deleted one back."""
    pointers: list[dict[str, Any]] = []

    def act_and_look() -> None:
        act(theirs)
        if act is make_again:
            pointers.append(pointer(mine))

    with meanwhile("l2.publish.visible", act_and_look):
        append(mine, "late", branch="side")
    if act is make_again:
        assert pointer(mine) == pointers[0]
        assert people(theirs, "side") == "ann bob new"
    else:
        assert [each.name for each in theirs.branches.list()] == ["main"]


def test_a_late_delete_leaves_the_new_branch_alone(mine: Repository, theirs: Repository) -> None:
    """A delete that began before the name meant another branch does not remove that one."""
    pointers = type(mine._pointers)
    delete = pointers.delete

    def after_it_was_made_again(self: Any, name: str, native: str | None) -> bool:
        patched.undo()
        make_again(theirs)
        return delete(self, name, native)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pointers, "delete", after_it_was_made_again)
        mine.branches.delete("side")  # which the others finished
    assert people(theirs, "side") == "ann bob new"
