"""Repositories to look after: on local disk and on a real S3 server alike."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph_l2 import Repository

sys.path.insert(0, str(Path(__file__).parent))

from upkeepwork import SCHEMA

BOTH = ["local", pytest.param("s3", marks=pytest.mark.integration)]


@pytest.fixture(params=BOTH)
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Repository]:
    """An empty repository, in each kind of store."""
    if request.param == "local":
        made = Repository.init(tmp_path / "repo", SCHEMA, durability="none")
    else:
        store = request.getfixturevalue("s3_store")
        made = Repository.init(store.uri("repo"), SCHEMA, store.storage_options)
    with made:
        yield made


@pytest.fixture
def another(repo: Repository) -> Iterator[Repository]:
    """Another handle on the same repository."""
    options = repo._root.storage.lance_options or None
    with Repository.open(repo.uri, options, durability="none") as opened:
        yield opened


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Repository]:
    """An empty repository on local disk."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as made:
        yield made
