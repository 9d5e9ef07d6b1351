"""What the processes of the proofs do. A module that they import."""

from __future__ import annotations

import random
import time

from fleet import Location

from omnigraph_l2 import Transaction
from omnigraph_l2.errors import DanglingEdges, ExpectedVersionMismatch

__all__ = ["append_to", "edges_or_deletes", "read_or_write", "skew", "upsert_some"]


def append_to(location: Location, writer: int, table_key: str, count: int) -> float:
    """Append three rows, again and again; give the longest that one transaction took."""
    longest = 0.0
    with location.open(actor=f"w{writer}") as repository:
        for turn in range(count):
            started = time.monotonic()
            with repository.transaction() as tx:
                rows = [{"id": f"{writer}-{turn}-{n}", "value": n} for n in range(3)]
                tx.append(table_key, rows)
            longest = max(longest, time.monotonic() - started)
    return longest


def upsert_some(location: Location, writer: int, table_key: str, count: int) -> float:
    """Upsert rows that others upsert too; each row says which transaction wrote it."""
    longest = 0.0
    draw = random.Random(writer)
    with location.open(actor=f"w{writer}") as repository:
        for turn in range(count):
            stamp = writer * 1_000_000 + turn
            chosen = draw.sample(range(30), 5)
            started = time.monotonic()
            with repository.transaction(message=str(stamp)) as tx:
                tx.upsert(table_key, [{"id": f"k{n}", "value": stamp} for n in chosen])
            longest = max(longest, time.monotonic() - started)
    return longest


def skew(location: Location, mine: str, other: str, rounds: list[int]) -> list[int]:
    """In each round write one's own table, if the other's is unchanged; give the rounds won."""
    won = []
    with location.open() as repository:
        for number in rounds:
            _meet(repository, number)
            try:
                with repository.transaction(message=f"round {number}") as tx:
                    if tx.read(other, filter=f"value = {number}").num_rows:
                        continue
                    tx.expect(other)
                    tx.append(mine, [{"id": f"r{number}", "value": number}])
            except ExpectedVersionMismatch:
                continue
            won.append(number)
    return won


def _meet(repository: object, number: int) -> None:
    """Spread the two a little, in another way in each round."""
    del repository
    until = time.monotonic() + random.Random(number).uniform(0, 0.003)
    while time.monotonic() < until:
        pass


def point_at(location: Location, rounds: list[int]) -> list[int]:
    """In each round add an edge to the round's node; give the rounds in which it was added."""
    won = []
    with location.open() as repository:
        for number in rounds:
            try:
                with repository.transaction() as tx:
                    edge = {"id": f"e{number}", "src": f"n{number}", "dst": "anchor"}
                    tx.append("edge:Points", [edge])
            except DanglingEdges:
                continue
            won.append(number)
    return won


def delete_node(location: Location, rounds: list[int]) -> list[int]:
    """In each round delete the round's node; give the rounds in which it was deleted."""

    def drop(tx: Transaction, number: int) -> None:
        tx.delete("node:Spot", ids=[f"n{number}"])

    won = []
    with location.open() as repository:
        for number in rounds:
            try:
                repository.retry(lambda tx, number=number: drop(tx, number))
            except DanglingEdges:
                continue
            won.append(number)
    return won


def edges_or_deletes(location: Location, what: str, rounds: list[int]) -> tuple[str, list[int]]:
    """Do one of the two."""
    return what, (point_at if what == "add" else delete_node)(location, rounds)


def read_the_same(location: Location, version: int, *, until: int) -> int:
    """Read one snapshot again and again, until the log is so long; give how often."""
    compared = 0
    with location.open() as repository:
        snapshot = repository.snapshot(version=version)
        first = {key: snapshot.read(key) for key in snapshot.tables}
        tables = dict(snapshot.tables)
        done = False
        while not done:
            done = len(repository.log()) >= until
            assert dict(snapshot.tables) == tables
            for key, rows in first.items():
                assert snapshot.read(key).equals(rows)
            fresh = repository.snapshot(version=version)
            assert dict(fresh.tables) == tables
            compared += 1
    return compared


def read_or_write(location: Location, what: str, version: int, count: int) -> int:
    """Do one of the two."""
    if what == "write":
        append_to(location, 0, "node:T0", count)
        return 0
    return read_the_same(location, version, until=count + 2)
