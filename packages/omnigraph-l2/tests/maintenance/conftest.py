"""Repositories to look after: on local disk and on a real S3 server alike."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from each_store import EACH_STORE, made
from small_graph import SCHEMA

from omnigraph_l2 import Repository

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _leases(request: pytest.FixtureRequest) -> None:
    """Let readers take a lease at once, but in the tests of those that take none."""
    if request.path.stem != "test_short_reads":
        request.getfixturevalue("lease_at_once")


@pytest.fixture(params=EACH_STORE)
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Repository]:
    """An empty repository, in each kind of store."""
    with made(request, tmp_path, SCHEMA) as repository:
        yield repository


@pytest.fixture
def another(repo: Repository) -> Iterator[Repository]:
    """Another handle on the same repository."""
    options = repo._root.storage.lance_options or None
    with Repository.open(repo.uri, options, durability="none") as opened:
        yield opened


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Repository]:
    """An empty repository on local disk."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repository:
        yield repository


@pytest.fixture
def another_local(local: Repository) -> Iterator[Repository]:
    """Another handle on the repository on local disk."""
    with Repository.open(local.uri, durability="none") as opened:
        yield opened
