"""Branches from a commit that was written together with others in one version of the catalog."""

from __future__ import annotations

from branchwork import ids_of_log
from small_graph import COMPANY, PERSON, append, people, written_together

from omnigraph_l2 import Repository


def test_a_branch_from_the_first_of_two(repo: Repository) -> None:
    """It lacks what the second made: rows, commit, and sequence; and goes on from there."""
    first, second = written_together(repo, PERSON, COMPANY)
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
