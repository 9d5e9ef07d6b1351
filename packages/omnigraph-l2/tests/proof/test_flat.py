"""Cost does not grow with history: nobody calls maintenance, whoever publishes does it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pyarrow as pa
import pytest
from fleet import Place, scaled

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository
from omnigraph_testing import FaultyS3

_SCHEMA = GraphSchema(
    nodes=[NodeType("Person", {"name": pa.string()}), NodeType("City", {"name": pa.string()})],
    edges=[EdgeType("Lives", "Person", "City")],
)
_AT_MOST = 1.5
_SAMPLES = 40


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


def _costs(place: Place, turns: range) -> dict[str, float]:
    """Measure each of the four, as users meet them: the middle of several."""
    found: dict[str, list[float]] = {"open": [], "snapshot": [], "transaction": [], "read": []}
    warm = place.open()
    for turn in turns:
        found["transaction"].append(_seconds(lambda turn=turn: _load(warm, turn)))  # type: ignore[misc]
        found["open"].append(_seconds(lambda: place.open().close()))
        found["snapshot"].append(_seconds(warm.snapshot))
        found["read"].append(_seconds(lambda: warm.snapshot().find("node:Person", ["000042"])))
    warm.close()
    return {name: statistics.median(seconds) for name, seconds in found.items()}


@pytest.mark.usefixtures("processes")
def test_ten_thousand_transactions(tmp_path: object) -> None:
    """After 10,000 each thing costs at most 1.5 times what it cost after 100."""
    place = Place(uri=str(tmp_path) + "/repo", options=None)
    count = scaled(10_000)
    with place.make(_SCHEMA) as repository:
        for turn in range(100):
            _load(repository, turn)
    early = _costs(place, range(100, 100 + _SAMPLES))
    with place.open() as repository:
        for turn in range(100 + _SAMPLES, count):
            _load(repository, turn)
    late = _costs(place, range(count, count + _SAMPLES))
    print({name: (round(early[name] * 1e3, 2), round(late[name] * 1e3, 2)) for name in early})
    for name, seconds in late.items():
        assert seconds <= _AT_MOST * early[name], (name, early, late)


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

    publish(range(64))
    early = requests()
    publish(range(64, 64 + scaled(2_560)))
    assert requests() <= [count + 8 for count in early]
