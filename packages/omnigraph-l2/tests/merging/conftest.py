"""Repositories to merge in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mergework import SCHEMA, filled

from omnigraph_l2 import Repository

BOTH = ["local", pytest.param("s3", marks=pytest.mark.integration)]


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """A repository with three people and an edge, and a branch ``side`` of it."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as made:
        filled(made)
        made.branches.create("side")
        yield made


@pytest.fixture(params=BOTH)
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Repository]:
    """The same, in each kind of store."""
    if request.param == "local":
        made = Repository.init(tmp_path / "repo", SCHEMA, durability="none")
    else:
        store = request.getfixturevalue("s3_store")
        made = Repository.init(store.uri("repo"), SCHEMA, store.storage_options)
    with made:
        filled(made)
        made.branches.create("side")
        yield made
