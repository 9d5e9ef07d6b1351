"""A store that accepts connections and never answers: what waits for it ends, and says so."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from omnigraph_l1 import JsonRefs, Storage, Table, deadlines, read_object
from omnigraph_l1.errors import L1Error, OutcomeUnknown, StoreUnavailable
from omnigraph_testing import Delay, DynamoTable, FaultyS3, Operation, Rule

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False)])
ROWS = pa.table({"id": ["x"]}, SCHEMA)


@contextmanager
def silent(store: FaultyS3) -> Iterator[None]:
    """Let the store answer nothing."""
    held = store.hold(times=None)
    try:
        yield
    finally:
        held.release()
        store.clear()


def check_ends(kind: type[L1Error], call: Callable[[], Any], *, within: float) -> None:
    """Check that a call raises an error of that kind in time."""
    began = time.monotonic()
    with pytest.raises(kind):
        call()
    assert time.monotonic() - began < within


def test_the_defaults_add_up_to_less_than_15_seconds() -> None:
    """One question that is not answered, and two more by the same operation."""
    first = deadlines.SILENCE_SECONDS + deadlines.PROBE_SECONDS
    later = deadlines.SUSPECT_SILENCE_SECONDS + deadlines.SUSPECT_PROBE_SECONDS
    assert first + 2 * later <= 15


def test_each_call_to_a_silent_store_ends(faulty_s3: FaultyS3) -> None:
    """What could have written has an unknown outcome; everything else was not done."""
    options = {**faulty_s3.storage_options, "timeout": "1s"}
    storage = Storage.resolve(faulty_s3.uri("t"), options)
    table = Table.create(storage, SCHEMA).append(ROWS).table
    staged = table.stage_append(ROWS)
    refs = JsonRefs.open(storage, "refs")
    calls: list[tuple[type[L1Error], Callable[[], Any]]] = [
        (StoreUnavailable, lambda: Table.open(storage)),
        (StoreUnavailable, table.refresh),
        (StoreUnavailable, table.read),
        (OutcomeUnknown, lambda: table.commit(staged)),
        (StoreUnavailable, lambda: refs.get("r")),
        (OutcomeUnknown, lambda: refs.create("r", {})),
        (StoreUnavailable, lambda: read_object(storage, "x")),
    ]
    with silent(faulty_s3):
        for kind, call in calls:
            check_ends(kind, call, within=12)
    assert table.refresh().read().num_rows >= 1


def test_a_store_that_answers_others_is_waited_for(faulty_s3: FaultyS3) -> None:
    """A call that takes long is not given up while the store is there."""
    table = Table.create(
        faulty_s3.uri("t"), SCHEMA, storage_options=faulty_s3.storage_options, config={}
    )
    asked: list[str] = []

    def release_when_asked_twice(operation: Operation) -> bool:
        if operation.key.endswith("omnigraph-is-the-store-there"):
            asked.append(operation.key)
            if len(asked) == 2:
                held.release()
        return False

    with faulty_s3.hold("PUT", key="*.manifest") as held, deadlines.within(1):
        faulty_s3.inject(Rule(Delay(0), predicate=release_when_asked_twice))
        assert table.append(ROWS).version == table.version + 1
    assert len(asked) == 2


def test_a_silent_dynamodb_is_reported(
    faulty_s3: FaultyS3, omnigraph_dynamodb_table: DynamoTable
) -> None:
    """It decides the versions of a table, and the bucket may answer all the while."""
    bucket, table = faulty_s3.uri("t"), omnigraph_dynamodb_table
    location = f"{bucket.replace('s3://', 's3+ddb://')}?ddbTableName={table.name}"
    options = {**faulty_s3.storage_options, **table.storage_options, "timeout": "1s"}
    Table.create(location, SCHEMA, storage_options=options)
    with socket.create_server(("127.0.0.1", 0)) as server:
        options["dynamodb_endpoint"] = f"http://127.0.0.1:{server.getsockname()[1]}"
        check_ends(
            StoreUnavailable, lambda: Table.open(location, storage_options=options), within=12
        )
