"""Several writer processes at once: every commit lands, once, in one order; nobody starves."""

from __future__ import annotations

from collections import Counter

import pytest
from each_store import AT_NIGHT, DYNAMODB, EACH_STORE
from fleet import Location, assert_linear, at_once, ids_of, scaled, tables
from jobs import append_to, edges_or_deletes, skew, upsert_some
from sizes import FULL_SIZE, sized

from omnigraph_l2 import EdgeType, GraphSchema, NodeType

pytestmark = pytest.mark.usefixtures("processes")

_WRITERS = sized(4, 8)
_EVERYWHERE = pytest.mark.parametrize("location", [*EACH_STORE, *DYNAMODB], indirect=True)
_AT_NIGHT = pytest.mark.parametrize("location", [*EACH_STORE, *AT_NIGHT], indirect=True)


def _longest_allowed(location: Location) -> float:
    if not FULL_SIZE:
        return float("inf")  # a bound on time is for a machine that does nothing else
    return 5.0 if location.is_local else 15.0


def test_writers_of_different_tables(location: Location) -> None:
    """8 processes, 50 transactions each: 400 commits in one line, no row lost or doubled."""
    count = scaled(50)
    location.make(tables(_WRITERS)).close()
    at_once(append_to, [(location, n, f"node:T{n}", count) for n in range(_WRITERS)])
    with location.open() as repository:
        assert_linear(repository, _WRITERS * count)
        for writer in range(_WRITERS):
            expected = {f"{writer}-{turn}-{n}" for turn in range(count) for n in range(3)}
            assert Counter(ids_of(repository, f"node:T{writer}")) == Counter(expected)


@_EVERYWHERE
def test_writers_of_one_table(location: Location) -> None:
    """The same on one table: each row once, and no transaction takes too long."""
    count = scaled(50)
    location.make(tables(1)).close()
    longest = at_once(append_to, [(location, n, "node:T0", count) for n in range(_WRITERS)])
    with location.open() as repository:
        assert_linear(repository, _WRITERS * count)
        expected = {
            f"{writer}-{turn}-{n}"
            for writer in range(_WRITERS)
            for turn in range(count)
            for n in range(3)
        }
        assert Counter(ids_of(repository, "node:T0")) == Counter(expected)
    assert max(longest) < _longest_allowed(location)


@_AT_NIGHT
def test_upserts_of_the_same_rows(location: Location) -> None:
    """The result is that of the commits, one after another, in the order of the log."""
    count = scaled(50)
    location.make(tables(1)).close()
    longest = at_once(upsert_some, [(location, n, "node:T0", count) for n in range(_WRITERS)])
    with location.open() as repository:
        assert_linear(repository, _WRITERS * count)
        order = {commit.message: at for at, commit in enumerate(reversed(repository.log()))}
        expected: dict[str, int] = {}
        for message in sorted(filter(None, order), key=lambda text: order[text]):
            snapshot = repository.snapshot(commit=_id_of(repository, message))
            written = snapshot.read("node:T0", filter=f"value = {message}").column("id")
            assert len(written) == 5
            expected.update(dict.fromkeys(written.to_pylist(), int(message)))
        found = repository.snapshot().read("node:T0")
        pairs = zip(found.column("id").to_pylist(), found.column("value").to_pylist(), strict=True)
        assert dict(pairs) == expected
    assert max(longest) < _longest_allowed(location)


def _id_of(repository: object, message: str) -> str:
    (found,) = [c.graph_commit_id for c in repository.log() if c.message == message]  # type: ignore[attr-defined]
    return str(found)


@_AT_NIGHT
def test_write_skew(location: Location) -> None:
    """Two that each see the other's table unchanged, and write their own, never both succeed."""
    rounds = list(range(scaled(200)))
    location.make(tables(2)).close()
    first, second = at_once(
        skew, [(location, "node:T0", "node:T1", rounds), (location, "node:T1", "node:T0", rounds)]
    )
    assert not set(first) & set(second)
    assert set(first) | set(second), "nobody ever won: the proof is empty"


def test_an_edge_and_the_delete_of_its_end(location: Location) -> None:
    """An edge that is added and a delete of the node at its end never both succeed."""
    rounds = list(range(scaled(200)))
    schema = GraphSchema(
        nodes=[NodeType("Spot"), NodeType("Anchor")], edges=[EdgeType("Points", "Spot", "Anchor")]
    )
    with location.make(schema) as repository, repository.transaction() as tx:
        tx.append("node:Spot", [{"id": f"n{number}"} for number in rounds])
        tx.append("node:Anchor", [{"id": "anchor"}])
    added, deleted = _edges_against_deletes(location, rounds)
    assert not set(added) & set(deleted)
    assert sorted([*added, *deleted]) == rounds
    with location.open() as repository:
        nodes = set(ids_of(repository, "node:Spot"))
        ends = repository.snapshot().read("edge:Points").column("src").to_pylist()
        assert set(ends) <= nodes


def _edges_against_deletes(location: Location, rounds: list[int]) -> tuple[list[int], list[int]]:
    jobs = [(location, "add", rounds), (location, "delete", rounds)]
    named = dict(at_once(edges_or_deletes, jobs))
    return named["add"], named["delete"]
