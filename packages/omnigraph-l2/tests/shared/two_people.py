"""Repositories with two people: on local disk and on a real S3 server alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from each_store import EACH_STORE, made
from small_graph import SCHEMA, append

from omnigraph_l2 import Repository

__all__ = ["local", "repo"]


@pytest.fixture(params=EACH_STORE)
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Repository]:
    """A repository with two people, in each kind of store."""
    with made(request, tmp_path, SCHEMA) as repository:
        append(repository, "ann", "bob")
        yield repository


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Repository]:
    """A repository with two people, on local disk."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repository:
        append(repository, "ann", "bob")
        yield repository
