"""What a transaction costs on S3, counted by a gateway before a real server."""

from __future__ import annotations

import pyarrow as pa
from sizes import sized
from untimed_requests import untimed

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository
from omnigraph_testing import FaultyS3

_SCHEMA = GraphSchema(
    nodes=[NodeType("Person", {"name": pa.string()}), NodeType("City", {"name": pa.string()})],
    edges=[EdgeType("Lives", "Person", "City")],
)
_MOST_REQUESTS = 36
_MOST_SEQUENTIAL = sized(17, 15)
"""Two more where seconds have passed since the last commit: then the catalog is read again, and the
files of the original program are looked for."""
_LATENCY = sized(0.2, 0.02)
"""So long by default that seconds always pass, and that requests made at once overlap although the
machine is busy; at full size so short that they do not."""
_WARMING_UP = 17
_A_WHOLE_ROUND = 16
"""In so many transactions the log is completed once, and the catalog compacted twice."""


def _load(repository: Repository, turn: int) -> None:
    with repository.transaction() as tx:
        ids = [f"{turn}-{n}" for n in range(100)]
        tx.append("node:Person", [{"id": each, "name": "x"} for each in ids])
        tx.append("node:City", [{"id": each, "name": "y"} for each in ids])
        tx.append("edge:Lives", [{"id": each, "src": each, "dst": each} for each in ids])


def test_three_tables_in_one_transaction(faulty_s3: FaultyS3) -> None:
    """100 rows each, warm: at most 36 requests, at most 17 of them one after another.

    What is done once in so many transactions for all of them does not make the mean larger.
    """
    costs: list[int] = []
    with Repository.init(
        faulty_s3.uri("repo"), _SCHEMA, storage_options=faulty_s3.storage_options
    ) as repository:
        for turn in range(_WARMING_UP):
            _load(repository, turn)
        for turn in range(_WARMING_UP, _WARMING_UP + _A_WHOLE_ROUND):
            repository.snapshot()  # a state that was read long ago is read again
            faulty_s3.forget_requests()
            _load(repository, turn)
            costs.append(len(untimed(faulty_s3.requests)))
        plain = costs.index(min(costs))
        for turn in range(100, 100 + plain):
            _load(repository, turn)
        faulty_s3.latency = _LATENCY
        with faulty_s3.expect(max_requests=_MOST_REQUESTS, max_sequential=_MOST_SEQUENTIAL):
            _load(repository, 200)
    assert sum(costs) / len(costs) <= _MOST_REQUESTS
    assert sorted(costs)[len(costs) * 3 // 4] <= _MOST_REQUESTS


def test_the_store_is_asked_once_whether_it_honours_conditions(faulty_s3: FaultyS3) -> None:
    """By the first handle of a process; tables, catalog and other handles do not ask again."""
    where, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    Repository.init(where, _SCHEMA, storage_options=options).close()
    asked = _probes(faulty_s3)
    assert len(asked) == 1
    with Repository.open(where, storage_options=options) as repository:
        _load(repository, 1)
    assert _probes(faulty_s3) == asked


def _probes(store: FaultyS3) -> set[str]:
    """Return the objects that were put to try conditions; leases try conditional deletes, too."""
    keys = {each.key for each in store.requests if "/.probe/" in each.key}
    return {key for key in keys if "/_refs/leases/" not in key}
