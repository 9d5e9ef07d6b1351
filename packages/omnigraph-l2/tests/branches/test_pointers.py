"""What the name of a branch means, where several move it, remove it, and make it again."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest
from small_graph import append

from omnigraph_l2 import Repository
from omnigraph_l2._branches.pointers import Pointer, Pointers


@pytest.fixture
def mine(repo: Repository) -> Pointers:
    """Pointers as one process has them: it has just moved the branch ``side``."""
    repo.branches.create("side")
    append(repo, "cat", branch="side")
    return repo._pointers


@pytest.fixture
def theirs(repo: Repository, mine: Pointers) -> Iterator[Pointers]:
    """The same as another process has them."""
    assert mine
    options = repo._root.storage.lance_options or None
    with Repository.open(repo.uri, options, durability="none") as other:
        yield other._pointers


def side(pointers: Pointers) -> Pointer:
    """Read the pointer of the branch."""
    found = pointers.get("side")
    assert found is not None
    return found


def test_it_only_moves_on(mine: Pointers, theirs: Pointers) -> None:
    """Whoever is behind leaves it where it is, also who does not know that others were faster."""
    start = side(mine)
    version = start.manifest_version
    theirs.advance("side", start.native_branch, version + 2, "second")
    mine.advance("side", start.native_branch, version + 1, "first")
    assert (side(mine).manifest_version, side(mine).head_commit_id) == (version + 2, "second")
    mine.advance("side", start.native_branch, version + 3, "third")
    assert (side(theirs).manifest_version, side(theirs).head_commit_id) == (version + 3, "third")
    theirs.advance("side", start.native_branch, version + 1, "first")
    assert side(theirs).head_commit_id == "third"


def test_a_name_that_means_another_branch_now(mine: Pointers, theirs: Pointers) -> None:
    """Whoever still writes to the old one neither moves nor removes the new one."""
    old = side(mine)
    assert theirs.delete("side", old.native_branch)
    new = attrs.evolve(old, native_branch=f"{old.native_branch}x", head_commit_id="new")
    assert theirs.create(new)
    mine.advance("side", old.native_branch, old.manifest_version + 1, "late")
    assert not mine.delete("side", old.native_branch)
    assert side(mine) == new


def test_a_name_that_is_gone(mine: Pointers, theirs: Pointers) -> None:
    """A late writer does not bring it back."""
    old = side(mine)
    assert theirs.delete("side", old.native_branch)
    mine.advance("side", old.native_branch, old.manifest_version + 1, "late")
    assert theirs.get("side") is None
    assert not mine.delete("side", old.native_branch)


def test_a_name_that_is_taken(mine: Pointers, theirs: Pointers) -> None:
    """Whoever comes second is told, and changes nothing."""
    first = side(mine)
    assert not theirs.create(attrs.evolve(first, native_branch="other", head_commit_id="other"))
    assert side(mine) == first
