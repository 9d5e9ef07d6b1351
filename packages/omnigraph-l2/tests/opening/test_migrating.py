"""Bringing a whole repository to the newest internal schema version by hand."""

from __future__ import annotations

from pathlib import Path

from other_publisher import OtherPublisher

from omnigraph_l2 import INTERNAL_MANIFEST_SCHEMA_VERSION, Repository


def test_every_branch_is_migrated(tmp_path: Path) -> None:
    """First only told; then done, also on branches; again, there is nothing to do."""
    OtherPublisher(tmp_path / "old").create(version=1)
    repo = Repository.open(tmp_path / "old")
    repo.branches.create("side")
    told = repo.migrate()
    assert told.is_needed
    assert dict(told.found) == {"main": 1, "side": 1}
    assert dict(repo.migrate().found) == dict(told.found)
    assert "would become version 2: main (of 1), side (of 1)" in str(told)
    done = repo.migrate(dry_run=False)
    assert (dict(done.found), done.supported) == (
        dict(told.found),
        INTERNAL_MANIFEST_SCHEMA_VERSION,
    )
    for seen in (repo, Repository.open(tmp_path / "old")):
        assert not seen.migrate().is_needed


def test_a_new_repository_needs_none(tmp_path: Path) -> None:
    """It is of the newest version from the start."""
    with Repository.init(tmp_path / "new", durability="none") as repo:
        assert not repo.migrate(dry_run=False).is_needed
