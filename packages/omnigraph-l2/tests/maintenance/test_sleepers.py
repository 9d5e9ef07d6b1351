"""Who was stopped for so long that its data was cleaned up meanwhile: told, whatever it does."""

from __future__ import annotations

import threading

import pytest
from sleepers import JOBS, go_on, stopped
from small_graph import PERSON, append, people
from upkeepwork import NOTHING

from omnigraph_l2 import Repository

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
