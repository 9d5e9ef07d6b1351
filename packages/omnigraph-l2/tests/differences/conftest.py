"""Repositories whose moments are compared."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import small_graph
from each_store import EACH_STORE, location_in

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "proof"))

from differing import CITY, LIVES, PERSON, SCHEMA, add, person
from fleet import Location

from omnigraph_l2 import Repository


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """A repository with two people, a city and an edge, tagged "start"."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as made:
        add(made, person("a", "Ann", 1), person("b", "Bob", 2))
        with made.transaction() as tx:
            tx.append(CITY, [{"id": "o", "name": "Oslo"}])
            tx.append(LIVES, [{"id": "e", "src": "a", "dst": "o"}])
        made.tags.create("start")
        yield made


@pytest.fixture(params=EACH_STORE)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """Where a repository can be made, in each kind of store."""
    return Location(*location_in(request, tmp_path, "location"))


@pytest.fixture
def written_together(repo: Repository) -> list[str]:
    """Two commits in one write; their ids, in order."""
    return small_graph.written_together(repo, PERSON, CITY)
