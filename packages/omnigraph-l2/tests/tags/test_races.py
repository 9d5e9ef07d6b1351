"""Tags beside others: one name, one branch that is deleted, and processes that are killed."""

from __future__ import annotations

from typing import Any

import pytest
from forced_order import meanwhile
from killing import killed_at
from racing import race
from small_graph import append, fill, people
from tagwork import names, race_to_tag, tag_and_untag

from omnigraph_l2 import Repository
from omnigraph_l2.errors import TagExists, UnknownBranch
from omnigraph_testing import Crash


def test_the_branch_is_deleted_meanwhile(local: Repository) -> None:
    """Then there is no tag, rather than one whose data is about to go."""
    local.branches.create("side")
    append(local, "cat", branch="side")
    with (
        meanwhile("l2.tag.written", lambda: local.branches.delete("side", force=True)),
        pytest.raises(UnknownBranch),
    ):
        local.tags.create("v1", "side")
    assert names(local) == []


def test_a_tag_comes_while_its_branch_is_deleted(local: Repository) -> None:
    """It was written before the deletion was decided: its data stays."""
    local.branches.create("side")
    append(local, "cat", branch="side")
    branch = type(local._branch("side"))
    close = branch.close

    def late(*given: Any, **more: Any) -> bool:
        local.tags.create("v1", "side")
        return close(*given, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(branch, "close", late)
        local.branches.delete("side")
    assert [each.name for each in local.branches.list()] == ["main"]
    assert people(local, tag="v1") == "ann bob cat"


@pytest.mark.integration
def test_one_of_several_processes_gets_a_name(local: Repository) -> None:
    """The tag names what the winner named."""
    commits = [append(local, f"p{number}").graph_commit_id for number in range(3)]
    local.flush()
    outcomes = race(race_to_tag, [(local.uri, commit) for commit in commits])
    (winner,) = [each for each in outcomes if each is not None]
    assert local.tags.get("v1").graph_commit_id == winner


@pytest.mark.integration
def test_killed_at_each_step(omnigraph_crash: Crash) -> None:
    """The tag is there as a whole, or not at all."""
    trial = omnigraph_crash.directory / "trial"
    trial.mkdir(parents=True)
    outcome = omnigraph_crash.run(tag_and_untag, *fill(trial))
    declared = {name for name in outcome.declared if name.startswith("l2.tag.")}
    assert declared
    assert declared <= set(outcome.passed)
    found = {}
    for point, (uri,) in killed_at(omnigraph_crash, tag_and_untag, fill, declared):
        with Repository.open(uri, durability="none") as repo:
            found[point] = names(repo)
            if found[point]:
                assert people(repo, tag="v1") == "ann bob"
                with pytest.raises(TagExists):
                    repo.tags.create("v1")
            else:
                repo.tags.create("v1")
    assert found == {"l2.tag.checked": [], "l2.tag.written": ["v1"], "l2.tag.removed": []}
