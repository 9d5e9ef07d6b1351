"""Bringing a whole repository to the newest internal schema version by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from other_publisher import OtherPublisher

from omnigraph_l1 import Table
from omnigraph_l2 import INTERNAL_MANIFEST_SCHEMA_VERSION, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import UpgradeRequired

SCHEMA = GraphSchema(nodes=[NodeType("Person")])
STAMP = "omnigraph:internal_schema_version"


def test_every_branch_is_migrated(tmp_path: Path) -> None:
    """First only told; then done, also on branches; again, there is nothing to do."""
    OtherPublisher(tmp_path / "old").create(version=1)
    repo = Repository.open(tmp_path / "old")
    repo.branches.create("side")
    told = repo.migrate()
    assert told.is_needed
    assert dict(told.found) == {"main": 1, "side": 1}
    assert dict(repo.migrate().found) == dict(told.found)
    assert f"would become version {INTERNAL_MANIFEST_SCHEMA_VERSION}: main (of 1), side" in str(
        told
    )
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


@pytest.mark.parametrize("branch", ["main", "side"])
def test_a_later_stamp(tmp_path: Path, branch: str) -> None:
    """What a later program migrated is refused, for reading and for writing; the rest is not.

    Also by a handle that was open before.
    """
    later = INTERNAL_MANIFEST_SCHEMA_VERSION + 1
    with Repository.init(tmp_path / "new", SCHEMA, durability="none") as repo:
        repo.branches.create("side")
        catalog = Table.open(tmp_path / "new" / "__manifest")
        (native,) = catalog.branch_names()
        there = Table.open(catalog.location, branch=None if branch == "main" else native)
        there.annotate(schema_metadata={STAMP: str(later)})
        for attempt in (
            lambda: repo.snapshot(branch),
            lambda: append(repo, branch),
            lambda: append(Repository.open(tmp_path / "new"), branch),
        ):
            with pytest.raises(UpgradeRequired) as caught:
                attempt()
            expected = (later, INTERNAL_MANIFEST_SCHEMA_VERSION)
            assert (caught.value.found, caught.value.supported) == expected
        if branch == "side":
            append(repo, "main")


def append(repo: Repository, branch: str) -> None:
    """Publish a row."""
    with repo.transaction(branch) as tx:
        tx.append("node:Person", [{"id": "a"}])
