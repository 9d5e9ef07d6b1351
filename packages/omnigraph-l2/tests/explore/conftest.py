"""Each repository to look at is made once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from browser import Browser, chromium, started
from shown_graphs import hostile, story

from omnigraph_l2 import Repository
from omnigraph_l2._explore.answers import Answers


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Give a repository with a history, and its commits by short names."""
    place = tmp_path_factory.mktemp("story") / "graph"
    return place, story(place)


@pytest.fixture(scope="session")
def commits(told: tuple[Path, dict[str, str]]) -> dict[str, str]:
    """Give the commits of the story."""
    return told[1]


@pytest.fixture(scope="session")
def repo(told: tuple[Path, dict[str, str]]) -> Iterator[Repository]:
    """Open the story."""
    with Repository.open(told[0]) as repo:
        yield repo


@pytest.fixture
def answers(repo: Repository) -> Answers:
    """Give what can be asked about the story."""
    return Answers(repo)


@pytest.fixture(scope="session")
def hostile_repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """Open a repository in which every name and value is an attack."""
    place = tmp_path_factory.mktemp("hostile") / "graph"
    hostile(place)
    with Repository.open(place) as repo:
        yield repo


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start Chromium. Where CI runs, a browser that is not there is a failure."""
    if chromium() is None:
        told = "no Chromium: nox -s browser gets it, or sudo apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    with started() as browser:
        yield browser
