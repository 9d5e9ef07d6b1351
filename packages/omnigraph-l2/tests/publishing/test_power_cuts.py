"""Writers with different durability: what one of them was promised, no power cut takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.traced_crash import TracedCrash
from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_testing import mark

pytestmark = pytest.mark.integration

A, B = "node:A", "node:B"


def mixed_life(location: str) -> None:
    """A durable commit to one table follows a hasty one to the other."""
    Repository.init(location, GraphSchema(nodes=[NodeType("A"), NodeType("B")])).close()
    with Repository.open(location, durability="none") as hasty, hasty.transaction() as tx:
        tx.append(B, [{"id": "hasty"}])
    with Repository.open(location) as repo:
        with repo.transaction() as tx:
            tx.append(A, [{"id": "durable"}])
        mark("durable")


def test_a_durable_commit_after_a_hasty_one(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """All that its snapshot shows can be read, also the table that it did not write."""
    (tmp_path / "disk").mkdir()
    trace = traced_crash.record(mixed_life, str(tmp_path / "disk" / "repo"), root=tmp_path / "disk")
    seen = 0
    for number, state in enumerate(trace.power_cuts(limit=200)):
        if state.acknowledged:
            where = state.materialise(tmp_path / f"state-{number}") / "repo"
            with Repository.open(where) as repo:
                snapshot = repo.snapshot()
                assert snapshot.read(A)["id"].to_pylist() == ["durable"], str(state)
                assert snapshot.read(B)["id"].to_pylist() == ["hasty"], str(state)
            seen += 1
    assert seen
