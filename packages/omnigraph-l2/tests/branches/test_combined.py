"""Branches from a commit that was written together with others in one version of the catalog."""

from __future__ import annotations

import threading
import time

from branchwork import PERSON, append, ids_of_log, people

from omnigraph_l2 import Repository

COMPANY = "node:Company"
DEADLINE = 30


def written_together(repo: Repository) -> list[str]:
    """Publish two commits in one write; give their ids, in order."""

    def add(key: str) -> None:
        with repo.transaction(check_edges=False) as tx:
            tx.append(key, [{"id": "new"}])

    publisher = repo._branch("main")._publisher
    threads = [threading.Thread(target=add, args=(key,)) for key in (PERSON, COMPANY)]
    with publisher._leading:
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + DEADLINE
        while len(publisher._queue) < len(threads):
            assert time.monotonic() < deadline
    for thread in threads:
        thread.join(DEADLINE)
    newest, before = repo.log(limit=2)
    assert newest.manifest_version == before.manifest_version
    return [before.graph_commit_id, newest.graph_commit_id]


def test_a_branch_from_the_first_of_two(repo: Repository) -> None:
    """It lacks what the second made: rows, commit, and sequence; and goes on from there."""
    first, second = written_together(repo)
    repo.flush()
    for source in (first, repo.snapshot(commit=first)):
        repo.branches.create("side", source)
        assert ids_of_log(repo, "side")[0] == first
        assert second not in ids_of_log(repo, "side")
        tables = repo.snapshot("side").tables
        assert tables[PERSON].row_count + tables[COMPANY].row_count == 3
        append(repo, "cat", branch="side")
        assert "cat" in people(repo, "side")
        repo.flush()
        assert [each.parent_commit_id for each in repo.log("side", limit=1)] == [first]
        repo.branches.delete("side")
    repo.branches.create("both", second)
    assert ids_of_log(repo, "both") == ids_of_log(repo, "main")
    assert repo.snapshot("both").tables[COMPANY].row_count == 1
