"""Several processes that make, write, merge, delete and make again one name, and clean up."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest
from branch_jobs import EACH, ITEM, LONELY, NAME, NEXT, OTHER, SCHEMA, SHARED, Told, race
from commit_model import CommitModel
from fleet import Location, assert_linear, at_once
from sizes import sized

from omnigraph_l2 import Repository, Snapshot
from omnigraph_l2.errors import UnknownBranch

pytestmark = pytest.mark.usefixtures("processes")

_PROCESSES = 4
_OPERATIONS = sized(100, 1_000)


def test_one_name_made_merged_deleted_and_cleaned_up(location: Location) -> None:
    """1,000 operations: only errors that races explain, and every row where it was merged to."""
    with location.make(SCHEMA) as repository, repository.transaction() as tx:
        tx.append(ITEM, [{"id": each, "value": 0} for each in SHARED])
    assert tx.commit is not None
    jobs = [(location, number, _OPERATIONS // _PROCESSES, 5) for number in range(_PROCESSES)]
    told: list[Told] = at_once(race, jobs)
    faults = [fault for each in told for fault in each.faults]
    assert not faults, "\n\n".join(faults)
    _assert_all_happened(told)

    done = [commit for each in told for commit in each.done]
    with location.open() as repository:
        report = repository.verify(dangling_edges=True)
        assert report.ok, str(report)
        assert_linear(repository, 1 + sum(each.branch == "main" for each in done))
        model = CommitModel(tx.commit.graph_commit_id, dict.fromkeys(SHARED, 0), done)
        _assert_rows(repository, model)
        _use_the_name(repository)
        assert repository.verify(dangling_edges=True).ok


def _assert_all_happened(told: list[Told]) -> None:
    """The names were raced for; else the proof is empty."""
    seen = Counter(outcome for each in told for outcome in each.outcomes)
    missing = [name for name in EACH if not seen[name, ""]]
    assert not missing, f"never succeeded: {missing}, of {seen}"


def _assert_rows(repository: Repository, model: CommitModel) -> None:
    """Each branch and tag shows what its commit is by what was acknowledged."""
    for branch in repository.branches.list():
        _assert_shown(repository.snapshot(branch.name), model)
    for tag in repository.tags.list():
        _assert_shown(repository.snapshot(tag=tag.name), model)


def _assert_shown(snapshot: Snapshot, model: CommitModel) -> None:
    assert snapshot.commit is not None
    expected = model.state(snapshot.commit.graph_commit_id)
    rows = [row for key in (ITEM, OTHER) for row in snapshot.read(key).to_pylist()]
    assert {row["id"]: row["value"] for row in rows} == expected
    assert len(rows) == len(expected)
    edges = sorted(snapshot.read(NEXT).column("id").to_pylist())
    assert edges == sorted(expected.keys() - {*SHARED, LONELY})


def _use_the_name(repository: Repository) -> None:
    """The name that all wanted can be had, written to, merged and deleted."""
    with suppress(UnknownBranch):
        repository.branches.delete(NAME, force=True)
    repository.branches.create(NAME)
    with repository.transaction(NAME) as tx:
        tx.append(ITEM, [{"id": "last", "value": 1}])
    repository.branches.merge(NAME)
    assert repository.snapshot().find(ITEM, ["last"]).num_rows == 1
    repository.branches.delete(NAME, force=True)
