"""Two that first write to a table of a branch, and fork it each in a way of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from small_graph import PERSON, append, native_branches, people

from omnigraph_l1 import Table, table_path
from omnigraph_l2 import Repository, Transaction
from omnigraph_l2.errors import DuplicateIds


def by_staging(tx: Transaction) -> None:
    """Add rows as another process might write them, and an empty part."""
    target = tx.stage(PERSON)
    tx.append_staged(PERSON, [target.write([{"id": "slow"}]), target.write([])])


WRITES: dict[str, Callable[[Transaction], object]] = {
    "append": lambda tx: tx.append(PERSON, [{"id": "slow"}]),
    "staged": by_staging,
    "upsert": lambda tx: tx.upsert(PERSON, [{"id": "slow"}]),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_the_slower_goes_over_to_the_other_fork(
    local: Repository, monkeypatch: pytest.MonkeyPatch, write: Callable[[Transaction], object]
) -> None:
    """What it had written lies in its own fork, and comes along: nobody has lost anything."""
    local.branches.create("side")
    with local.transaction("side") as tx:
        write(tx)
        with monkeypatch.context() as patch, Repository.open(local.uri) as other:
            patch.setattr(Table, "versions", lambda _: [])  # no fork is taken for a fresh one
            append(other, "quick", branch="side")
    assert people(local, "side") == "ann bob quick slow"
    assert len(native_branches(local, table_path(PERSON))) == 2
    assert people(local) == "ann bob"
    with pytest.raises(DuplicateIds), local.transaction("side") as tx:
        tx.append(PERSON, [{"id": "slow"}])
