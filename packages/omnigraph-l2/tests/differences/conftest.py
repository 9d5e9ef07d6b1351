"""Repositories whose moments are compared."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "proof"))

from differing import CITY, LIVES, PERSON, SCHEMA, add, person
from fleet import Place

from omnigraph_l2 import Repository

_DEADLINE = 30


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


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.integration)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where a repository can be made, in each kind of store."""
    if request.param == "local":
        return Place(uri=str(tmp_path / "place"), options=None)
    store = request.getfixturevalue("s3_store")
    return Place(uri=store.uri("repo"), options=store.storage_options)


@pytest.fixture
def processes() -> None:
    """Say that a test starts processes: it is an integration test then."""


@pytest.fixture
def written_together(repo: Repository) -> list[str]:
    """Two commits in one write; their ids, in order."""

    def work(key: str) -> None:
        with repo.transaction(check_edges=False) as tx:
            tx.append(key, [{"id": "new"}])

    publisher = repo._branch("main")._publisher
    threads = [threading.Thread(target=work, args=(key,)) for key in (PERSON, CITY)]
    with publisher._leading:
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + _DEADLINE
        while len(publisher._queue) < len(threads):
            assert time.monotonic() < deadline
    for thread in threads:
        thread.join(_DEADLINE)
    return [commit.graph_commit_id for commit in repo.log(limit=2)[::-1]]
