"""Cost does not grow with history: nobody calls maintenance, whoever publishes does it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from fleet import Location, scaled

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository
from omnigraph_testing import FaultyS3

_SCHEMA = GraphSchema(
    nodes=[NodeType("Person", {"name": pa.string()}), NodeType("City", {"name": pa.string()})],
    edges=[EdgeType("Lives", "Person", "City")],
)
_AT_MOST = 1.5
_SAMPLES = 40
_EARLY = 32
"""So many transactions are two rounds of all upkeep of the catalog."""


def _load(repository: Repository, turn: int) -> None:
    with repository.transaction() as tx:
        key = f"{turn:06}"
        tx.append("node:Person", [{"id": key, "name": "x"}])
        tx.append("node:City", [{"id": key, "name": "y"}])
        tx.append("edge:Lives", [{"id": key, "src": key, "dst": key}])


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _costs(location: Location, warm: Repository, turn: int) -> dict[str, float]:
    """Measure each thing once, as users meet it."""
    return {
        "transaction": _seconds(lambda: _load(warm, turn)),
        "open": _seconds(lambda: location.open().close()),
        "snapshot": _seconds(warm.snapshot),
        "read": _seconds(lambda: warm.snapshot().find("node:Person", ["000042"])),
    }


def _grown(location: Location, transactions: int) -> Location:
    with location.make(_SCHEMA) as repository:
        for turn in range(transactions):
            _load(repository, turn)
    return location


@pytest.mark.slow
@pytest.mark.usefixtures("processes")
def test_ten_thousand_transactions(tmp_path: Path) -> None:
    """After 10,000 each thing costs at most 1.5 times what it costs after 100.

    The two are measured in turns, so that whatever else the machine does meets both.
    """
    few = _grown(Location(uri=str(tmp_path / "few"), options=None), 100)
    many = _grown(Location(uri=str(tmp_path / "many"), options=None), scaled(10_000))
    with few.open() as small, many.open() as large:
        pairs = [
            (_costs(few, small, turn), _costs(many, large, turn))
            for turn in range(100_000, 100_000 + _SAMPLES)
        ]
    for name in pairs[0][0]:
        early = statistics.median(first[name] for first, _ in pairs)
        late = statistics.median(second[name] for _, second in pairs)
        assert late <= _AT_MOST * early, (name, early, late)


def test_the_number_of_requests_stays(faulty_s3: FaultyS3) -> None:
    """Opening, a snapshot and a read by id ask the store as often after many as after few."""
    options = faulty_s3.storage_options
    uri = faulty_s3.uri("repo")
    Repository.init(uri, _SCHEMA, storage_options=options).close()

    def requests() -> list[int]:
        counted = []
        with Repository.open(uri, storage_options=options) as repository:
            counted.append(len(faulty_s3.requests))
            repository.snapshot()
            counted.append(len(faulty_s3.requests))
            repository.snapshot().find("node:Person", ["000042"])
            counted.append(len(faulty_s3.requests))
        faulty_s3.forget_requests()
        return counted

    def publish(turns: range) -> None:
        with Repository.open(uri, storage_options=options) as repository:
            for turn in turns:
                _load(repository, turn)
        faulty_s3.forget_requests()

    publish(range(_EARLY))
    early = requests()
    publish(range(_EARLY, scaled(2_560)))
    assert requests() <= [count + 8 for count in early]
