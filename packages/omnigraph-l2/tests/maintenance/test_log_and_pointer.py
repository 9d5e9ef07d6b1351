"""The log and the pointer follow the catalog: when they are behind, and who completes them."""

from __future__ import annotations

import json
import signal
from multiprocessing import get_context
from pathlib import Path

import pytest
from small_graph import SCHEMA, append
from upkeepwork import append_and_die

from omnigraph_l1 import JsonRefs, Storage, Table
from omnigraph_l2 import Repository
from omnigraph_testing import Answer, FaultyS3, Rule


def logged(repo: Repository) -> set[str]:
    """Return the commits of main that another program finds in the log."""
    table = Table.open(Path(repo.uri) / "_graph_commits.lance")
    return set(table.read(columns=["graph_commit_id"])["graph_commit_id"].to_pylist())


def published(repo: Repository) -> set[str]:
    """Return the commits of main."""
    return {each.graph_commit_id for each in repo.log()}


def pointer(repo: Repository) -> tuple[int, str]:
    """Return version and commit in the pointer of main."""
    value = json.loads((Path(repo.uri) / "_refs/branches/main.json").read_text())
    return value["manifest_version"], value["head_commit_id"]


def pointed(pointers: JsonRefs) -> str:
    """Return the commit in the pointer of main."""
    found = pointers.get("main")
    assert found is not None
    return str(found.value["head_commit_id"])


def test_it_is_behind_while_a_handle_is_open(local: Repository) -> None:
    """And never by more than 16 commits. Closing completes it."""
    append(local, "first")
    assert logged(local) == published(local), "the first publish of a handle completes it"
    behind = []
    for number in range(20):
        append(local, f"p{number}")
        behind.append(len(published(local) - logged(local)))
    assert 0 < max(behind) <= 16
    append(local, "last")
    assert logged(local) < published(local)
    commits = published(local)
    local.close()
    assert logged(local) == commits


@pytest.mark.integration
def test_the_next_writer_completes_it_after_a_crash(local: Repository) -> None:
    """With its first commit: what a killed process has published is then in the log."""
    job = get_context("spawn").Process(target=append_and_die, args=(local.uri, 4))
    job.start()
    job.join(120)
    assert job.exitcode == -signal.SIGKILL
    assert len(published(local) - logged(local)) == 3
    append(local, "next")
    assert logged(local) == published(local)


def test_it_can_be_completed_with_each_commit(local: Repository) -> None:
    """On any branch, for the price of some writes."""
    with Repository.open(local.uri, durability="none", log_each_commit=True) as repo:
        for number in range(3):
            append(repo, f"p{number}")
            assert logged(repo) == published(repo)


def test_the_log_is_completed_though_the_pointer_cannot_be_moved(faulty_s3: FaultyS3) -> None:
    """One of both failing does not keep the other from being done; the next one moves it."""
    where, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    Repository.init(where, SCHEMA, options).close()
    with Repository.open(where, options, log_each_commit=True) as repo:
        faulty_s3.inject(Rule(Answer(403), "PUT", key="*/_refs/branches/main.json"))
        for number in range(3):
            append(repo, f"p{number}")
        table = Table.open(f"{where}/_graph_commits.lance", storage_options=options)
        found = table.read(columns=["graph_commit_id"])["graph_commit_id"].to_pylist()
        assert set(found) == published(repo)
        pointers = JsonRefs.open(Storage.resolve(where, options), "_refs/branches")
        assert pointed(pointers) != repo.log()[0].graph_commit_id
        faulty_s3.clear()
        append(repo, "last")
        assert pointed(pointers) == repo.log()[0].graph_commit_id


def test_the_pointer_follows_each_commit(local: Repository) -> None:
    """Listing the branches takes the head of main from the catalog, with or without a pointer."""
    for name in ("first", "last"):
        made = append(local, name)
        assert pointer(local) == (made.manifest_version, made.graph_commit_id)
        assert local.branches.list()[0].head_commit_id == made.graph_commit_id
    (Path(local.uri) / "_refs/branches/main.json").unlink()
    assert local.branches.list()[0].manifest_version == made.manifest_version


def test_optimizing_advances_the_pointer(local: Repository) -> None:
    """It makes versions of the catalog without a commit; the pointer names the newest."""
    for number in range(3):
        append(local, f"p{number}")
    assert local.optimize().catalog
    head = local.snapshot()
    assert head.commit is not None
    assert pointer(local) == (head.version, head.commit.graph_commit_id)
    append(local, "later")
    local.close()
    with Repository.open(local.uri, durability="none") as again:
        assert pointer(again)[0] == again.snapshot().version
        assert again.verify().ok
