"""Repositories to merge in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from each_store import EACH_STORE, made

sys.path.insert(0, str(Path(__file__).parent))

from mergework import SCHEMA, filled

from omnigraph_l2 import Repository


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """A repository with three people and an edge, and a branch ``side`` of it."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repository:
        filled(repository)
        repository.branches.create("side")
        yield repository


@pytest.fixture(params=EACH_STORE)
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Repository]:
    """The same, in each kind of store."""
    with made(request, tmp_path, SCHEMA) as repository:
        filled(repository)
        repository.branches.create("side")
        yield repository
