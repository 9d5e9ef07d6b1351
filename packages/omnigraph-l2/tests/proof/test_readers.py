"""A reader with a snapshot keeps reading the same, whatever goes by."""

from __future__ import annotations

import pytest
from fleet import Location, at_once, scaled, tables
from jobs import read_or_write

pytestmark = pytest.mark.usefixtures("processes")


def test_a_snapshot_while_a_thousand_publishes_go_by(location: Location) -> None:
    """Same rows, same tables, same versions: over publishes and over compactions of all kinds."""
    count = scaled(1_000)
    with location.make(tables(2)) as repository:
        with repository.transaction() as tx:
            tx.append("node:T0", [{"id": f"old-{n}", "value": n} for n in range(500)])
        version = repository.snapshot().version
        fragments = len(repository.snapshot().dataset("node:T0").get_fragments())
    jobs = [(location, "read", version, count), (location, "write", version, count)]
    compared = sum(at_once(read_or_write, jobs))
    assert compared > 3
    with location.open() as repository:
        assert len(repository.log()) == count + 2
        now = len(repository.snapshot().dataset("node:T0").get_fragments())
        assert now < fragments + count, "nothing was compacted: the proof is empty"
