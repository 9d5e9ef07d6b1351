"""What pylance and obstore do when a reply takes its time: latency, thin lines, holds, time-outs.

They pin what the clients do, as test_effects_on_lance.py and test_effects_on_obstore.py, which have
the other faults.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import lance
import pyarrow as pa
import pytest
from obstore.store import S3Store

from omnigraph_testing import Bandwidth, Delay, FaultyS3, Rule

VERSION_FILE = "*/_versions/*"
ROWS = pa.table({"a": [1, 2, 3]})


def test_lance_pays_latency_for_each_round_trip(faulty_s3: FaultyS3, table: Any) -> None:
    """Opening pays it twice, one after the other."""
    faulty_s3.latency = 0.2
    with faulty_s3.expect(max_requests=2, max_sequential=2):
        table.open()
    listed, got = faulty_s3.requests
    assert (listed.method, got.method) == ("LIST", "GET")
    assert got.ended is not None
    assert got.ended - listed.started >= 0.4


def test_obstore_pays_latency_for_each_round_trip(faulty_s3: FaultyS3, store: S3Store) -> None:
    """Two requests one after the other take twice as long."""
    faulty_s3.latency = 0.2
    store.put("x", b"1")
    store.head("x")
    put, head = faulty_s3.requests
    assert head.ended is not None
    assert head.ended - put.started >= 0.4


def test_lance_opens_and_reads_through_a_thin_line(faulty_s3: FaultyS3, table: Any) -> None:
    """Bandwidth acts on what comes from the store, too, request by request."""
    rule = faulty_s3.inject(Rule(Bandwidth(5_000)))
    assert table.open().to_table().num_rows == 3
    assert rule.fired == len(faulty_s3.requests) >= 3
    for each in faulty_s3.requests:
        assert each.seconds is not None
        assert each.seconds >= each.bytes_out / 5_000


def test_lance_waits_for_a_commit_that_is_held(faulty_s3: FaultyS3, table: Any) -> None:
    """Held after its effect, the version is there for others before its writer knows."""
    done: list[int] = []
    with faulty_s3.hold("PUT", key=VERSION_FILE, at="after") as held:
        writer = threading.Thread(target=lambda: done.append(table.append()))
        writer.start()
        held.wait()
        assert table.versions() == [1, 2]
        assert done == []
    writer.join()
    assert done == [2]


def test_obstore_waits_for_a_put_that_is_held(
    faulty_s3: FaultyS3, store: S3Store, truth: Callable[[str], bytes | None]
) -> None:
    """Held before its effect nothing is there; held after it, the object is there already."""
    for at, meanwhile in (("before", None), ("after", b"1")):
        with faulty_s3.hold("PUT", at=at) as held:
            writer = threading.Thread(target=store.put, args=(at, b"1"))
            writer.start()
            held.wait()
            assert truth(at) == meanwhile
            assert writer.is_alive()
        writer.join()
        assert truth(at) == b"1"


def test_lance_reads_its_commit_back_when_the_reply_is_too_late(
    faulty_s3: FaultyS3, table: Any
) -> None:
    """After ``timeout`` it does what it does about a lost reply: it finds its own version."""
    with faulty_s3.hold("PUT", key=VERSION_FILE, at="after") as late:
        written = lance.write_dataset(
            ROWS, table.uri, storage_options={**table.options, "timeout": "3s"}, mode="append"
        )
        assert len(late.operations) == 1
    assert written.version == 2
    assert table.versions() == [1, 2]
    assert table.truth.count_rows() == 6


def test_lance_raises_for_a_commit_that_does_not_arrive_in_time(
    faulty_s3: FaultyS3, table: Any
) -> None:
    """After ``timeout`` it does what it does about a cut request: OSError, and it lands later."""
    with faulty_s3.hold("PUT", key=VERSION_FILE), pytest.raises(OSError, match="sending request"):
        lance.write_dataset(
            ROWS, table.uri, storage_options={**table.options, "timeout": "3s"}, mode="append"
        )
    faulty_s3.wait_until_idle()
    assert table.versions() == [1, 2]


def test_lance_ignores_the_option_request_timeout(faulty_s3: FaultyS3, table: Any) -> None:
    """A reply that takes longer than that is awaited: it was asked for once."""
    faulty_s3.inject(Rule(Delay(0.8), "GET", key=VERSION_FILE))
    options = {**table.options, "request_timeout": "100ms"}
    assert lance.dataset(table.uri, storage_options=options).version == 1
    assert [each.method for each in faulty_s3.requests].count("GET") == 1


def test_lance_sends_a_listing_six_times_to_a_silent_store(faulty_s3: FaultyS3, table: Any) -> None:
    """Whatever the options for retries: so ``timeout`` does not bound how long opening takes."""
    options = {**table.options, "client_max_retries": "0", "timeout": "100ms"}
    with faulty_s3.hold(times=None) as held, pytest.raises(ValueError, match="sending request"):
        lance.dataset(table.uri, storage_options=options)
    assert [each.method for each in held.operations] == ["LIST"] * 6


def test_a_read_timeout_cuts_an_upload_that_makes_progress(faulty_s3: FaultyS3, table: Any) -> None:
    """It counts from the start of a request, sending included: it does not bound silence alone."""
    rows = pa.table({"a": pa.array(random.Random(0).choices(range(2**62), k=40_000))})
    faulty_s3.inject(Rule(Bandwidth(200_000), "PUT", key="*/data/*"))
    options = {**table.options, "client_max_retries": "0", "read_timeout": "1s"}
    with pytest.raises(OSError, match="single PUT"):
        lance.write_dataset(rows, table.uri, storage_options=options, mode="append")
    lance.write_dataset(rows, table.uri, storage_options=table.options, mode="append")
    assert table.truth.count_rows() == 40_003
