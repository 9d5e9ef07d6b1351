"""One Storage serves Lance and obstore, tells no secret, and finds a dead store out quickly."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from omnigraph_l1 import JsonRefs, Storage, read_object
from omnigraph_l1.errors import (
    InvalidStorageOptions,
    StorageError,
    StoreUnavailable,
    UsedAfterFork,
)
from omnigraph_testing import S3Store

KEYS = {"access_key_id": "AK", "secret_access_key": "hunter2", "session_token": "hunter2"}
SECONDS = 15.0
"""What "in seconds, not minutes" means here, with room for a busy machine."""


def test_one_storage_serves_both(s3_store: S3Store) -> None:
    """What obstore writes through a Storage, Lance's side of it sees, and the other way round."""
    storage = Storage.resolve(s3_store.uri("both"), s3_store.storage_options)
    table = storage.child("t")
    lance.write_dataset(
        pa.table({"a": [1]}), table.location.uri, storage_options=table.lance_options
    )
    listed = storage.object_store().list_with_delimiter("t")["common_prefixes"]
    assert sorted(listed) == ["t/_transactions", "t/_versions", "t/data"]


def test_variables_serve_both(s3_store: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the usual variables alone, both reach the store."""
    for name, value in s3_store.storage_options.items():
        variable = name.upper() if name.startswith("aws_") else f"AWS_{name.upper()}"
        monkeypatch.setenv(variable, value)
    storage = Storage.resolve(s3_store.uri("by-variables"))
    lance.write_dataset(
        pa.table({"a": [1]}), storage.location.uri, storage_options=storage.lance_options
    )
    assert storage.object_store().list_with_delimiter()["common_prefixes"]


def test_given_options_win_over_variables(
    s3_store: S3Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables that lead elsewhere, under other spellings, are no match for what was given."""
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "wrong")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "wrong")
    storage = Storage.resolve(s3_store.uri("given"), s3_store.storage_options)
    lance.write_dataset(
        pa.table({"a": [1]}), storage.location.uri, storage_options=storage.lance_options
    )
    assert storage.object_store().list_with_delimiter()["common_prefixes"]


def test_it_is_a_value() -> None:
    """Equal locations and options are one Storage, also after pickling, and share one store."""
    given = {**KEYS, "region": "r"}
    storage = Storage.resolve("s3://bucket/x/", given, environ={})
    copy = pickle.loads(pickle.dumps(storage))
    assert copy == storage == Storage.resolve("s3://bucket/./x", given, environ={})
    assert len({copy, storage}) == 1
    assert copy.object_store() is storage.object_store()
    assert storage.child("y/z") == Storage.resolve("s3://bucket/x/y/z", given, environ={})
    assert Storage.resolve(storage) is storage
    assert storage != Storage.resolve("s3://bucket/x", {**given, "region": "q"}, environ={})


def test_it_tells_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    """No secret is in its repr, its text, a log line, or an error that comes of using it."""
    caplog.set_level(logging.DEBUG)
    given = {**KEYS, "region": "r", "endpoint": "http://127.0.0.1:1", "allow_http": True}
    storage = Storage.resolve("s3://bucket/x", {**given, "client_max_retries": 0}, environ={})
    with pytest.raises(StorageError) as caught:
        JsonRefs.open(storage).get("x")
    told = [repr(storage), str(storage), f"{storage}", str(caught.value), repr(caught.value)]
    told += [repr(JsonRefs.open(storage)), repr(caught.value.__cause__), caplog.text]
    told += [repr(storage.object_store())]
    assert "hunter2" not in "".join(told)
    assert "aws_secret_access_key" in repr(storage)


def test_a_store_that_obstore_refuses_is_our_error() -> None:
    """An option whose value only obstore can judge is refused with our error, without the value."""
    storage = Storage.resolve(
        "s3://bucket", {**KEYS, "region": "r", "checksum_algorithm": "hunter2"}, environ={}
    )
    with pytest.raises(InvalidStorageOptions) as caught:
        storage.object_store()
    assert "hunter2" not in str(caught.value)


@pytest.fixture
def hanging() -> Iterator[str]:
    """Return an endpoint that takes no connection and refuses none, as behind a bad firewall."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        for filler in fillers:
            filler.close()


def down(endpoint: str) -> Storage:
    """Return a Storage at an endpoint that does not work, with the default patience."""
    given = {**KEYS, "region": "r", "endpoint": endpoint, "allow_http": True}
    return Storage.resolve("s3://bucket/x", given, environ={})


def test_refused_connections_are_found_out_in_seconds() -> None:
    """Where nothing listens, both libraries give up in seconds, by default."""
    storage = down("http://127.0.0.1:1")
    started = time.monotonic()
    with pytest.raises(StoreUnavailable):
        read_object(storage, "x")
    with pytest.raises((OSError, ValueError), match="sending request"):
        lance.dataset(storage.location.uri, storage_options=storage.lance_options)
    assert time.monotonic() - started < SECONDS


def test_connections_that_hang_are_found_out_in_seconds(hanging: str) -> None:
    """Where connections are neither taken nor refused, obstore gives up within its limit."""
    started = time.monotonic()
    with pytest.raises(StoreUnavailable):
        read_object(down(hanging), "x")
    assert time.monotonic() - started < SECONDS


def _in_child(storage: Storage, answer: multiprocessing.SimpleQueue[str]) -> None:
    try:
        storage.object_store()
    except UsedAfterFork as error:
        answer.put(f"{error.made_in} {error.used_in}")
    else:
        answer.put("no error")


@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_use_after_fork_raises_at_once(tmp_path: Path) -> None:
    """A child that was forked after its parent used a store is told so instead of hanging."""
    storage = Storage.resolve(tmp_path)
    storage.object_store()
    context = multiprocessing.get_context("fork")
    answer: multiprocessing.SimpleQueue[str] = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(storage, answer))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert answer.get() == f"{os.getpid()} {child.pid}"


def test_a_directory_that_is_not_there_is_our_error(tmp_path: Path) -> None:
    """Obstore cannot be rooted at a directory that is missing; nothing is made."""
    with pytest.raises(StorageError, match="no such directory"):
        Storage.resolve(tmp_path / "nowhere").object_store()
    assert list(tmp_path.iterdir()) == []
