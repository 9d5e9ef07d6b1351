"""The contract of repositories, run against ours: on local disk and on a real S3 server."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pytest

from omnigraph_l2 import GraphSchema, Repository
from omnigraph_testing import S3Store
from omnigraph_testing.contracts.repositories import SCHEMA, RepositoryContract

FULL_SIZE = os.environ.get("OMNIGRAPH_FULL_SIZE") == "1"


def _ahead(repository: Repository) -> Repository:
    """Set a clock ahead: a cleanup spares what is young, and would never remove anything here."""
    repository._clock = lambda: datetime.now(timezone.utc) + timedelta(days=4)
    return repository


class TestLocal(RepositoryContract):
    """On local disk."""

    examples = 200 if FULL_SIZE else 5

    @pytest.fixture
    def repository(self, tmp_path: Path) -> Repository:
        """Make one."""
        return Repository.init(tmp_path / "repo", SCHEMA, durability="none")

    @pytest.fixture
    def reopened(self, tmp_path: Path) -> Callable[[], Repository]:
        """Open it again."""
        return partial(Repository.open, tmp_path / "repo", durability="none")

    @pytest.fixture
    def fresh(self, tmp_path: Path) -> Callable[[GraphSchema], tuple[Repository, Repository]]:
        """Make one after the other."""
        places = (tmp_path / f"graph-{number}" for number in itertools.count())

        def made(schema: GraphSchema) -> tuple[Repository, Repository]:
            place = next(places)
            first = Repository.init(place, schema, durability="none")
            return first, _ahead(Repository.open(place, durability="none"))

        return made


class TestS3(RepositoryContract):
    """On a real S3 server."""

    examples = 20 if FULL_SIZE else 1

    @pytest.fixture
    def repository(self, s3_store: S3Store) -> Repository:
        """Make one."""
        return Repository.init(s3_store.uri("repo"), SCHEMA, s3_store.storage_options)

    @pytest.fixture
    def reopened(self, s3_store: S3Store) -> Callable[[], Repository]:
        """Open it again."""
        return partial(Repository.open, s3_store.uri("repo"), s3_store.storage_options)

    @pytest.fixture
    def fresh(self, s3_store: S3Store) -> Callable[[GraphSchema], tuple[Repository, Repository]]:
        """Make one after the other."""
        names = (f"graph-{number}" for number in itertools.count())

        def made(schema: GraphSchema) -> tuple[Repository, Repository]:
            uri, options = s3_store.uri(next(names)), s3_store.storage_options
            return Repository.init(uri, schema, options), _ahead(Repository.open(uri, options))

        return made


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
