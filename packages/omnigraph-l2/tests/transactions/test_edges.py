"""No edge dangles, in whatever way it is tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tx_support import CITY, KNOWS, LIVES, PERSON, edge, ids

from omnigraph_l2 import Repository, TableTombstone, Transaction
from omnigraph_l2.errors import DanglingEdges, InvalidSchema

Step = Callable[[Transaction], Any]

DANGLING: list[tuple[str, Step]] = [
    ("src", lambda tx: tx.append(KNOWS, [edge("f", "no", "a")])),
    ("dst", lambda tx: tx.append(KNOWS, [edge("f", "a", "no")])),
    ("src", lambda tx: tx.upsert(KNOWS, [edge("f", "no", "a")])),
    ("dst", lambda tx: tx.upsert(KNOWS, [edge("e", "a", "no")])),
    ("dst", lambda tx: tx.overwrite(KNOWS, [edge("f", "a", "no")])),
    ("src", lambda tx: tx.append_staged(KNOWS, tx.stage(KNOWS).write([edge("f", "no", "a")]))),
    ("dst", lambda tx: tx.append(LIVES, [edge("l", "a", "b")])),
    ("src", lambda tx: tx.delete(PERSON, ids=["a"])),
    ("dst", lambda tx: tx.delete(PERSON, "id = 'b'")),
    ("src", lambda tx: tx.overwrite(PERSON, [{"id": "b"}])),
    ("src", lambda tx: tx.overwrite(PERSON, [])),
    ("src", lambda tx: (tx.delete(PERSON, ids=["a"]), tx.append(PERSON, [{"id": "c"}]))),
    (
        "src",
        lambda tx: (
            tx.append(PERSON, [{"id": "c"}]),
            tx.append(KNOWS, [edge("f", "c", "a")]),
            tx.delete(PERSON, ids=["c"]),
        ),
    ),
    ("src", lambda tx: (tx.delete(KNOWS, ids=["e"]), tx.append(KNOWS, [edge("f", "no", "a")]))),
]


@pytest.mark.parametrize(("column", "step"), DANGLING, ids=range(len(DANGLING)))
def test_dangling(repo: Repository, column: str, step: Step) -> None:
    """The edge table, the column and the missing ids are told, and nothing is published."""
    before = repo.snapshot()
    with pytest.raises(DanglingEdges) as raised, repo.transaction() as tx:
        step(tx)
    assert raised.value.column == column
    assert raised.value.table_key in {KNOWS, LIVES}
    assert set(raised.value.missing) <= {"no", "a", "b", "c"}
    assert repo.snapshot().tables == before.tables


WHOLE: list[Step] = [
    lambda tx: (tx.append(KNOWS, [edge("f", "c", "c")]), tx.append(PERSON, [{"id": "c"}])),
    lambda tx: (tx.delete(PERSON, ids=["a"]), tx.delete(KNOWS, ids=["e"])),
    lambda tx: (tx.delete(PERSON, ids=["a"]), tx.append(PERSON, [{"id": "a"}])),
    lambda tx: (tx.delete(PERSON, "true"), tx.upsert(PERSON, [{"id": "a"}, {"id": "b"}])),
    lambda tx: tx.overwrite(PERSON, [{"id": "b"}, {"id": "a"}]),
    lambda tx: (tx.overwrite(PERSON, []), tx.overwrite(KNOWS, [])),
    lambda tx: (tx.append(KNOWS, [edge("f", "no", "a")]), tx.delete(KNOWS, ids=["f"])),
    lambda tx: (tx.overwrite(KNOWS, [edge("f", "no", "a")]), tx.overwrite(KNOWS, [])),
    lambda tx: (
        tx.append(KNOWS, [edge("f", "no", "a")]),
        tx.upsert(KNOWS, [edge("f", "a", "a")]),
    ),
    lambda tx: (tx.append(CITY, [{"id": "rome"}]), tx.append(LIVES, [edge("l", "a", "rome")])),
]


@pytest.mark.parametrize("step", WHOLE, ids=range(len(WHOLE)))
def test_whole(repo: Repository, step: Step) -> None:
    """What is whole at the end is published, whatever it was on the way."""
    with repo.transaction() as tx:
        step(tx)
    assert tx.commit is not None


def test_without_the_check(repo: Repository) -> None:
    """It can be turned off, and edges that dangle already stop nobody."""
    with repo.transaction(check_edges=False) as tx:
        tx.append(KNOWS, [edge("f", "no", "a")])
        tx.delete(PERSON, ids=["b"])
    with repo.transaction() as tx:
        tx.append(KNOWS, [edge("g", "a", "a")])
        tx.append_staged(KNOWS, tx.stage(KNOWS).write([edge("h", "a", "a")]))
    assert ids(repo, KNOWS) == ["e", "f", "g", "h"]


def test_a_node_table_that_was_dropped(repo: Repository) -> None:
    """It cannot be dropped while an edge type ends there, however it is published."""
    version = repo.snapshot().tables[CITY].table_version
    with pytest.raises(InvalidSchema, match=LIVES):
        repo.publish([TableTombstone(table_key=CITY, table_version=version + 1)])


def test_many_ends_are_shown_in_part(repo: Repository) -> None:
    """An error does not list a million ids."""
    with pytest.raises(DanglingEdges) as raised, repo.transaction() as tx:
        tx.append(KNOWS, [edge(f"f{n}", f"no{n}", "a") for n in range(5_000)])
    assert 1 <= len(raised.value.missing) <= 10
