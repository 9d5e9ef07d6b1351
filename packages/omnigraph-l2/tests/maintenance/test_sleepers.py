"""Who was stopped for so long that its data was cleaned up meanwhile: told, whatever it does."""

from __future__ import annotations

import threading

import pytest
from sleepers import JOBS, go_on, merge_in_its_sleep, stopped
from small_graph import PERSON, append, people
from upkeepwork import NOTHING, table_versions

from omnigraph_l2 import Repository

_ROUNDS = 200
_EXPECTED = {"read": "SnapshotExpired", "anew": "GraphCommit"}


@pytest.mark.integration
@pytest.mark.parametrize("name", sorted(JOBS))
def test_it_is_told(local: Repository, name: str) -> None:
    """Never as damage; nothing of it is published, and no wrong row is read."""
    append(local, "a", "b")
    with stopped(go_on, local.uri, name) as returned:
        for other in "xy":
            with local.transaction() as tx:
                tx.overwrite(PERSON, [{"id": other, "age": 1}])
        local._leases.renew()
        tick = threading.Event()
        while not local.cleanup(NOTHING, dry_run=False).leases.count:
            tick.wait(0.05)
        assert local.cleanup(NOTHING).table_versions.count == 0
    assert returned == [_EXPECTED.get(name, "LeaseLost")]
    assert people(local) == ("new y" if name == "anew" else "y")
    assert local.tags.list() == []
    assert local.verify().ok


def clean_until_gone(repo: Repository, version: int) -> None:
    """Clean up until a version of the table of people is removed, which it must be."""
    tick, rounds = threading.Event(), 0
    while version in table_versions(repo):
        repo._leases.renew()
        repo.cleanup(NOTHING, dry_run=False)
        tick.wait(0.05)
        rounds += 1
        assert rounds < _ROUNDS, "what the lease covers is still there"


@pytest.mark.integration
def test_a_publish_that_was_stopped_before_its_write(repo: Repository) -> None:
    """What it publishes was removed since its last check: it is refused, and nothing dangles."""
    append(repo, "a")
    repo.branches.create("side")
    with repo.transaction() as tx:
        tx.overwrite(PERSON, [{"id": "b"}])
    merged = repo.snapshot().tables[PERSON].table_version
    options = repo._root.storage.lance_options or None
    with stopped(merge_in_its_sleep, repo.uri, options) as returned:
        with repo.transaction() as tx:
            tx.overwrite(PERSON, [{"id": "c"}])
        clean_until_gone(repo, merged)
    assert returned == ["LeaseLost"]
    assert (people(repo), people(repo, "side")) == ("c", "a")
    assert repo.verify().ok
    repo.branches.merge("main", "side")
    assert people(repo, "side") == "c"
