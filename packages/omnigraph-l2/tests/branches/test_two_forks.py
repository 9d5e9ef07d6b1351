"""Two that first write to a table of a branch, and fork it each in a way of its own."""

from __future__ import annotations

import pytest
from branchwork import PERSON, append, people

from omnigraph_l1 import Table, unique_branch_name
from omnigraph_l2 import Repository
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2.errors import ExpectedVersionMismatch


def test_the_slower_is_told_to_look_again(
    local: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had written belongs to its own fork: a lost race, and not a wrong call."""
    local.branches.create("side")
    slow = local.transaction("side")
    slow.__enter__()
    slow.append(PERSON, [{"id": "slow"}])
    with monkeypatch.context() as patch, Repository.open(local.uri) as other:
        patch.setattr(GraphBranch, "_forked_before", _another)
        append(other, "quick", branch="side")
    with pytest.raises(ExpectedVersionMismatch):
        slow.__exit__(None, None, None)
    local.retry(lambda tx: tx.append(PERSON, [{"id": "slow"}]), "side")
    assert people(local, "side") == "ann bob quick slow"


def _another(branch: GraphBranch, _path: str, pinned: Table) -> Table:
    assert branch.native is not None
    return pinned.fork(unique_branch_name(branch.native), fresh=True)
