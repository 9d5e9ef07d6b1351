"""Branches where the store does not answer: nothing is told as what it is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_graph import SCHEMA, append, people

from omnigraph_l2 import Repository
from omnigraph_l2.errors import CommitOutcomeUnknown, OutcomeUnknown
from omnigraph_testing import Answer, CutReply, CutRequest, Effect, FaultyS3, Operation, Rule

FORK = "*/nodes/*/_refs/branches/*"
POINTER = "repo/_refs/branches/side.json"


@pytest.fixture
def remote(faulty_s3: FaultyS3) -> Iterator[Repository]:
    """Two people, and a store that will fail."""
    with Repository.init(faulty_s3.uri("repo"), SCHEMA, faulty_s3.storage_options) as repo:
        append(repo, "ann", "bob")
        yield repo


@pytest.mark.parametrize("effect", [CutRequest(), CutReply(), Answer(500, applied=True)])
def test_the_fork_of_a_table(remote: Repository, faulty_s3: FaultyS3, effect: Effect) -> None:
    """Whether it was made or not, the transaction goes on: it takes that one, or makes another."""
    remote.branches.create("side")
    fault = faulty_s3.inject(Rule(effect, "PUT", key=FORK, times=1))
    append(remote, "cat", branch="side")
    append(remote, "dan", branch="side")
    assert fault.fired == 1
    assert people(remote, "side") == "ann bob cat dan"
    assert people(remote) == "ann bob"
    assert remote.verify().ok


def test_the_making_of_a_branch(remote: Repository, faulty_s3: FaultyS3) -> None:
    """It may be there: that is told, and of no commit, because there is none to look for."""
    pointed: list[Operation] = []

    def is_pointer(operation: Operation) -> bool:
        if operation.method == "PUT" and operation.key == POINTER:
            pointed.append(operation)
        return bool(pointed)

    faulty_s3.inject(Rule(CutReply(), predicate=is_pointer, times=1))
    faulty_s3.inject(Rule(Answer(403), predicate=lambda _: bool(pointed)))
    with pytest.raises(OutcomeUnknown) as unknown:
        remote.branches.create("side")
    faulty_s3.clear()
    assert not isinstance(unknown.value, CommitOutcomeUnknown)
    assert unknown.value.location.endswith("/_refs/branches")
    assert people(remote, "side") == "ann bob"
    append(remote, "cat", branch="side")
    assert people(remote, "side") == "ann bob cat"
