"""Repositories to evolve, and turns that nobody waits for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from graphs import SCHEMA, filled

from omnigraph_l2 import Repository


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a writer that is called in the middle of another one not wait for its turn."""
    monkeypatch.setattr("omnigraph_l2._publishing.turns._PATIENCE_SECONDS", 0.0)


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository with two people, a company, and an edge."""
    return filled(Repository.init(tmp_path / "repo", SCHEMA, durability="none"))


@pytest.fixture
def other(repo: Repository) -> Repository:
    """Another handle on it, as another process would have."""
    return Repository.open(repo.uri, durability="none")
