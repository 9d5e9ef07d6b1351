"""Repositories to evolve."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from graphs import SCHEMA, filled

from omnigraph_l2 import Repository


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository with two people, a company, and an edge."""
    return filled(Repository.init(tmp_path / "repo", SCHEMA, durability="none"))


@pytest.fixture
def other(repo: Repository) -> Repository:
    """Another handle on it, as another process would have."""
    return Repository.open(repo.uri, durability="none")
