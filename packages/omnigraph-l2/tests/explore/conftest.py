"""Repositories that the tests read, each created once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from chromium_driver import Browser, chromium, started
from page_access import JsonApi
from sample_graphs import hostile, story

from omnigraph_l2 import Repository


@pytest.fixture(scope="session")
def story_graph(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Create a repository with a history; return it with its commits by short names."""
    location = tmp_path_factory.mktemp("story") / "graph"
    return location, story(location)


@pytest.fixture(scope="session")
def commits(story_graph: tuple[Path, dict[str, str]]) -> dict[str, str]:
    """Return the commits of the story."""
    return story_graph[1]


@pytest.fixture(scope="session")
def repo(story_graph: tuple[Path, dict[str, str]]) -> Iterator[Repository]:
    """Open the story."""
    with Repository.open(story_graph[0]) as repo:
        yield repo


@pytest.fixture
def answers(repo: Repository) -> JsonApi:
    """Return the API of the story."""
    return JsonApi(repo)


@pytest.fixture(scope="session")
def hostile_repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """Open a repository in which every name and value is an attack."""
    location = tmp_path_factory.mktemp("hostile") / "graph"
    hostile(location)
    with Repository.open(location) as repo:
        yield repo


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start Chromium. In CI, a missing browser is a failure."""
    if chromium() is None:
        reason = "no Chromium: nox -s browser gets it, or sudo apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with started() as browser:
        yield browser
