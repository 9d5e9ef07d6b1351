"""What others do in the middle of a call: at a named step, so that the order is forced."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forced_order import meanwhile
from small_graph import PERSON, append, people

from omnigraph_l2 import GraphCommit, Repository
from omnigraph_l2.errors import (
    BranchExists,
    CorruptRepository,
    RunConflict,
    SnapshotExpired,
    UnknownBranch,
)

pytestmark = pytest.mark.usefixtures("impatient")


@pytest.fixture
def other(local: Repository) -> Iterator[Repository]:
    """Another handle, as another process would have."""
    with Repository.open(local.uri, durability="none") as opened:
        yield opened


@pytest.mark.parametrize("point", ["l2.branch.log_forked", "l2.branch.catalog_forked"])
def test_the_source_is_deleted_meanwhile(local: Repository, other: Repository, point: str) -> None:
    """Then there is no branch, rather than one whose data is about to go."""
    local.branches.create("a")
    append(local, "cat", branch="a")
    with meanwhile(point, lambda: other.branches.delete("a")), pytest.raises(UnknownBranch) as told:
        local.branches.create("kid", "a")
    assert told.value.branch == "a"
    assert [each.name for each in local.branches.list()] == ["main"]
    local.branches.create("kid")


@pytest.mark.parametrize("end", [Repository.flush, Repository.close])
def test_a_branch_is_deleted_while_its_log_is_completed(
    local: Repository, other: Repository, end: Callable[[Repository], None]
) -> None:
    """Nothing is left to complete, and nobody who only closes a handle is told of it."""
    local.branches.create("a")
    append(local, "cat", branch="a")
    append(local, "dog", branch="a")
    with meanwhile("l2.log.actors", lambda: other.branches.delete("a")):
        end(local)
    assert [each.name for each in other.branches.list()] == ["main"]


def test_a_child_is_made_while_its_source_is_deleted(local: Repository, other: Repository) -> None:
    """It came after the look for children and before the deletion was decided: its data stays."""
    local.branches.create("a")
    append(local, "cat", branch="a")
    source = type(local._branch("a"))
    close = source.close

    def late(*given: Any, **more: Any) -> None:
        other.branches.create("kid", "a")
        close(*given, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(source, "close", late)
        local.branches.delete("a")
    assert [each.name for each in local.branches.list()] == ["main", "kid"]
    assert people(other, "kid") == "ann bob cat"
    append(local, "dan", branch="kid")
    assert people(local, "kid") == "ann bob cat dan"


def test_the_source_of_a_run_is_deleted_meanwhile(local: Repository, other: Repository) -> None:
    """Then there is no run."""
    local.branches.create("a")
    with (
        meanwhile("l2.branch.catalog_forked", lambda: other.branches.delete("a")),
        pytest.raises(UnknownBranch),
    ):
        local.runs.begin("a")
    assert local.runs.list() == []


def test_the_name_is_taken_meanwhile(local: Repository, other: Repository) -> None:
    """The one who writes the pointer has it."""
    with (
        meanwhile("l2.branch.catalog_forked", lambda: other.branches.create("side")),
        pytest.raises(BranchExists),
    ):
        local.branches.create("side")
    assert local.branches.get("side") == other.branches.get("side")


def test_the_source_moves_on_meanwhile(local: Repository, other: Repository) -> None:
    """The branch is at one moment: rows and log tell the same."""
    with meanwhile("l2.branch.log_forked", lambda: append(other, "late")):
        local.branches.create("side")
    assert people(local, "side") == "ann bob"
    assert local.log("side") == local.log()[1:]


def the_same(repo: Repository, done: list[GraphCommit | None]) -> None:
    """Do an operation, another way."""
    with repo.transaction(operation_hash="op") as tx:
        tx.append("node:Company", [{"id": "co"}])
    done.append(tx.commit)


def test_a_transaction_repeats_another_of_the_same_moment(
    local: Repository, other: Repository
) -> None:
    """It gives that commit, and publishes nothing of its own."""
    done: list[GraphCommit | None] = []
    with (
        meanwhile("l2.publish.planned", lambda: the_same(other, done)),
        local.transaction(operation_hash="op") as tx,
    ):
        tx.append(PERSON, [{"id": "cat"}])
    assert [tx.commit] == done
    assert (people(local), len(local.log())) == ("ann bob", 3)


def test_a_run_repeats_a_transaction_of_the_same_moment(
    local: Repository, other: Repository
) -> None:
    """So does the publish of a run."""
    done: list[GraphCommit | None] = []
    run = local.runs.begin(operation_hash="op")
    with run.transaction() as tx:
        tx.append(PERSON, [{"id": "cat"}])
    with meanwhile("l2.run.applied", lambda: the_same(other, done)):
        assert [run.publish()] == done
    assert (people(local), len(local.log())) == ("ann bob", 3)


@pytest.mark.parametrize("key", [PERSON, "node:Company"])
def test_a_table_of_a_run_changes_at_the_last_moment(
    local: Repository, other: Repository, key: str
) -> None:
    """What it read or wrote must be as it was at the very moment of the publish."""
    run = local.runs.begin()
    with run.transaction() as tx:
        tx.read(PERSON)
        tx.append("node:Company", [{"id": "co"}])

    def change() -> None:
        with other.transaction() as changing:
            changing.append(key, [{"id": "late"}])

    with meanwhile("l2.run.applied", change), pytest.raises(RunConflict) as told:
        run.publish()
    assert told.value.tables == (key,)
    assert local.snapshot().tables["node:Company"].row_count == (key != PERSON)


@pytest.mark.parametrize("of", ["__manifest", "nodes"])
@pytest.mark.parametrize("by_name", [True, False], ids=["deleted", "damaged"])
def test_a_branch_whose_files_are_going(local: Repository, of: str, *, by_name: bool) -> None:
    """Who meets a deletion half way is told that the branch is gone; damage is told as damage."""
    native = local.branches.create("side").native_branch
    append(local, "cat", branch="side")
    location = Path(local.uri) / (
        of if of == "__manifest" else local.snapshot().tables[PERSON].table_path
    )
    gone = UnknownBranch if by_name else (CorruptRepository, SnapshotExpired)
    with pytest.raises(gone), local.transaction("side") as tx:  # noqa: PT012 - it ends here
        tx.append(PERSON, [{"id": "dan"}])
        with Repository.open(local.uri, durability="none") as other:
            append(other, "eve", branch="side")
        if by_name:
            (Path(local.uri) / "_refs" / "branches" / "side.json").unlink()
        shutil.rmtree(location / "tree" / str(native) / ("data" if of == "__manifest" else "."))
