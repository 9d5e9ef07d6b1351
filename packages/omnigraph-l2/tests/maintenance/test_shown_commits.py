"""The commit that a branch shows is found by its id, also after its catalog was compacted."""

from __future__ import annotations

import pytest
from small_graph import PERSON, append
from upkeepwork import NOTHING, later

from omnigraph_l2 import Repository


@pytest.mark.parametrize("branch", ["main", "side"])
def test_the_head_after_upkeep(repo: Repository, branch: str) -> None:
    """A cleanup keeps the version that it was made in, beside the compacted one that shows it."""
    append(repo, "a")
    repo.branches.create("side")
    for number in range(12):
        append(repo, f"p{number}", branch=branch)
    repo.optimize(branch=branch)
    head = repo.log(branch, limit=1)[0].graph_commit_id
    options = repo._root.storage.lance_options or None
    repo.close()
    with Repository.open(repo.uri, options, durability="none") as opened:
        later(opened, days=8)
        assert opened.cleanup(NOTHING, dry_run=False).catalog_versions.count
        rows = opened.snapshot(branch).read(PERSON)
        assert opened.snapshot(branch, commit=head).read(PERSON).equals(rows)
        assert opened.branches.create("again", head).head_commit_id == head
        assert opened.tags.create("now", head).graph_commit_id == head
        assert opened.diff(head, branch).is_empty
        assert opened.verify().ok
