"""The contract of repositories, run against ours: on local disk and on a real S3 server."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from omnigraph_l2 import Repository
from omnigraph_testing import S3Store
from omnigraph_testing.contracts.repositories import SCHEMA, RepositoryContract


class TestLocal(RepositoryContract):
    """On local disk."""

    @pytest.fixture
    def repository(self, tmp_path: Path) -> Repository:
        """Make one."""
        return Repository.init(tmp_path / "repo", SCHEMA, durability="none")

    @pytest.fixture
    def reopened(self, tmp_path: Path) -> Callable[[], Repository]:
        """Open it again."""
        return partial(Repository.open, tmp_path / "repo", durability="none")


class TestS3(RepositoryContract):
    """On a real S3 server."""

    @pytest.fixture
    def repository(self, s3_store: S3Store) -> Repository:
        """Make one."""
        return Repository.init(s3_store.uri("repo"), SCHEMA, s3_store.storage_options)

    @pytest.fixture
    def reopened(self, s3_store: S3Store) -> Callable[[], Repository]:
        """Open it again."""
        return partial(Repository.open, s3_store.uri("repo"), s3_store.storage_options)


def test_the_small_repository_is_ready(omnigraph_repo: Repository) -> None:
    """It has nodes, edges and a history, and can be written to."""
    assert len(omnigraph_repo.log()) == 3
    assert {k: e.row_count for k, e in omnigraph_repo.snapshot().tables.items()} == {
        "edge:Knows": 1,
        "edge:Lives": 2,
        "node:City": 2,
        "node:Person": 3,
    }
    with omnigraph_repo.transaction() as tx:
        tx.append("node:City", [{"id": "rome", "name": "Rome"}])
    assert omnigraph_repo.snapshot().find("node:City", ["rome"]).num_rows == 1
