"""Repositories to run in: on local disk and on a real S3 server alike."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from each_store import EACH_STORE, made

from omnigraph_l2 import Repository

sys.path.insert(0, str(Path(__file__).parent))

from runwork import SCHEMA, fill_in


@pytest.fixture(params=EACH_STORE)
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Repository]:
    """A repository with people and an edge, in each kind of store."""
    with made(request, tmp_path, SCHEMA) as repository:
        fill_in(repository)
        yield repository


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Repository]:
    """A repository with people and an edge, on local disk."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repository:
        fill_in(repository)
        yield repository
