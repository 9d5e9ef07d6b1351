"""Processes that create, delete, and write to one branch at the same time."""

from __future__ import annotations

import os

import pytest
from branchwork import churn, race_to_create, race_to_write
from racing import race
from small_graph import PERSON, append, people

from omnigraph_l2 import Repository

pytestmark = pytest.mark.integration

ROUNDS = 1_000 if os.environ.get("OMNIGRAPH_FULL_SIZE") else 12


def test_several_create_one_name(repo: Repository) -> None:
    """One of them makes it, and the name means what that one made; the others are told."""
    options = repo._root.storage.lance_options
    for _ in range(2):
        found = race(race_to_create, [(repo.uri, options)] * 3)
        won = [each for each in found if each is not None]
        assert len(won) == 1
        assert repo.branches.get("contested").native_branch == won[0]
        append(repo, "cat", branch="contested")
        assert people(repo, "contested") == "ann bob cat"
        repo.branches.delete("contested")


def test_several_fork_one_table(local: Repository) -> None:
    """The first writes to a table on a branch, at once: nothing is lost, and all rows are there."""
    for number in range(2):
        local.branches.create("side")
        names = [f"w{number}-{each}" for each in range(4)]
        race(race_to_write, [(local.uri, name) for name in names])
        assert people(local, "side") == " ".join(sorted(["ann", "bob", *names]))
        assert len({each.table_branch for each in local.snapshot("side").tables.values()}) == 2
        assert len(local.log("side")) == len(local.log()) + len(names)
        local.branches.delete("side")
    assert local.snapshot().tables[PERSON].table_branch is None


@pytest.mark.parametrize("durability", ["none", "full"])
def test_creating_deleting_and_writing_at_once(local: Repository, durability: str) -> None:
    """Whatever the order: only the expected errors, and a branch that works in the end."""
    location = {"uri": local.uri, "durability": durability}
    found = race(churn, [(location, number, ROUNDS) for number in range(3)])
    assert [unexpected for _, unexpected in found] == [[], [], []]
    assert all(done for done, _ in found)
    names = [each.name for each in local.branches.list()]
    if "contested" in names:
        local.branches.delete("contested")
    local.branches.create("contested")
    append(local, "cat", branch="contested")
    assert people(local, "contested") == "ann bob cat"
    assert people(local) == "ann bob"
