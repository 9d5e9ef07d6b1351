"""Each text by which a failure of Lance is recognised, provoked by the real thing."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lance
import pytest
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments
from provocations import (
    BY_NUMBER,
    LOCAL,
    OTHERWISE,
    REMOTE,
    TEXTS,
    Scene,
    Symptom,
    again,
    append,
    commit,
    compaction_over_deletion,
    make,
    provoked,
    recognised,
    rows,
)

from omnigraph_l1 import Resolution, Table, classify
from omnigraph_l1.errors import (
    AccessDenied,
    CorruptDataset,
    InvalidData,
    InvalidRequest,
    StorageError,
    StorageFull,
    StoreUnavailable,
)
from omnigraph_testing import Answer, FaultyS3, Rule, TruncateReply


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A dataset of two versions on local disk."""
    return Scene(append(make(tmp_path / "t", "a", "b"), "c"))


def test_each_text_has_a_test_here() -> None:
    """A text that nothing provokes may be misspelt, or be gone with a new version of Lance."""
    texts = [text for _, text in TEXTS]
    assert len(texts) == len(set(texts))
    assert set(texts) == LOCAL.keys() | REMOTE.keys() | OTHERWISE
    assert {meaning for meaning, _ in TEXTS} | BY_NUMBER == set(Symptom)


@pytest.mark.parametrize("text", LOCAL)
def test_texts_on_local_disk(scene: Scene, text: str) -> None:
    """The text is there, and nothing that comes earlier takes it for something else."""
    recognised(provoked(lambda: LOCAL[text](scene)), text)


@pytest.mark.integration
@pytest.mark.parametrize("text", REMOTE)
def test_texts_of_a_store(faulty_s3: FaultyS3, text: str) -> None:
    """The same, where each PUT of a version file meets a fault."""
    options = {**faulty_s3.storage_options, "client_max_retries": "0"}
    dataset = make(faulty_s3.uri("t"), "a", options=options)
    operation = LanceOperation.Append(write_fragments(rows("b"), dataset))
    faulty_s3.inject(Rule(REMOTE[text], "PUT", key="*/_versions/*"))
    recognised(provoked(lambda: commit(dataset, operation, 1)), text)


@pytest.mark.integration
def test_other_texts_of_a_store(faulty_s3: FaultyS3) -> None:
    """An empty version file, a reply that is cut short, a bucket that is not there."""
    options = {**faulty_s3.storage_options, "client_max_retries": "0"}
    dataset = append(make(faulty_s3.uri("t"), "a", options=options), "b")
    faulty_s3.inject(Rule(TruncateReply(5), "LIST"))
    recognised(provoked(lambda: again(dataset)), r"request or response body error")
    faulty_s3.clear()
    elsewhere = provoked(lambda: make("s3://no-such-bucket/t", "a", options=options))
    recognised(elsewhere, r"<Code>NoSuchBucket</Code>")
    first = lance.dataset(dataset.uri, version=1, storage_options=options)
    faulty_s3.obstore("t").put(f"_versions/{2**64 - 1 - 2}.manifest", b"")
    recognised(provoked(first.versions), r"Range started at 0 and ended at 0")


@pytest.mark.integration
def test_lance_cannot_find_out(faulty_s3: FaultyS3) -> None:
    """That it may not look does not mean that it was not allowed to write."""
    options = {**faulty_s3.storage_options, "client_max_retries": "0"}
    dataset = make(faulty_s3.uri("t"), "a", options=options)
    operation = LanceOperation.Append(write_fragments(rows("b"), dataset))
    faulty_s3.inject(Rule(Answer(500, applied=True), "PUT", key="*/_versions/*"))
    faulty_s3.inject(Rule(Answer(403), "HEAD", key="*/_versions/*"))
    failure = provoked(lambda: commit(dataset, operation, 1))
    faulty_s3.clear()
    recognised(failure, r"Commit result for version \d+ is unknown")
    assert again(dataset).version == 2


def test_a_panic_of_lance_is_a_failure_like_others(scene: Scene) -> None:
    """It derives from BaseException alone, and does not pass through."""
    older = scene.damage(lambda data: b"\xff" * 16 + data[16:])
    panic = provoked(lambda: again(older))
    assert not isinstance(panic, Exception)
    with pytest.raises(CorruptDataset) as caught:
        Table.open(scene.root, version=2)
    assert type(caught.value.__cause__) is type(panic)


def read_config(scene: Scene, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Read the config where Lance raises this."""

    def fail(_: LanceDataset) -> Any:
        raise error

    table = Table.open(scene.root)
    monkeypatch.setattr(LanceDataset, "config", fail)
    assert table.config


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration])
def test_what_lance_does_not_raise_passes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """No interrupt becomes a failure of the store."""
    with pytest.raises(error):
        read_config(scene, monkeypatch, error())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("403 Forbidden", AccessDenied),
        ("(os error 28)", StorageFull),
        ("error sending request", StoreUnavailable),
        ("Commit result for version 3 is unknown: 403 Forbidden", StoreUnavailable),
        ("file size is too small", CorruptDataset),
        ("Not found: x", CorruptDataset),
        ("Duplicate field name", InvalidData),
        ("Invalid user input: x", InvalidRequest),
        ("something else", StorageError),
    ],
)
def test_each_meaning_has_its_error(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, said: str, expected: type[Exception]
) -> None:
    """Where nothing special was being done."""
    with pytest.raises(expected) as caught:
        read_config(scene, monkeypatch, OSError(said))
    assert type(caught.value) is expected


def test_conflicts_are_classified(scene: Scene) -> None:
    """By Lance's own word where it gives one, by its text where it does not."""
    assert classify(provoked(lambda: compaction_over_deletion(scene))) is Resolution.RETRYABLE
    assert classify(OSError("Incompatible transaction: x")) is Resolution.INCOMPATIBLE
    assert classify(OSError("Too many concurrent writers")) is Resolution.RETRYABLE
    assert classify(OSError("something else")) is None
    assert classify(ValueError("Invalid user input: x")) is None


class Expired(http.server.BaseHTTPRequestHandler):
    """What S3 answers to credentials that were good for an hour."""

    def do_GET(self) -> None:
        """Refuse."""
        body = b"<Error><Code>ExpiredToken</Code><Message>It has expired.</Message></Error>"
        self.send_response(400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serving(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on loopback as long as the block lasts."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_credentials_that_expired() -> None:
    """No store that can be had here has such; its answer is in the manual of S3."""
    with serving(Expired) as endpoint:
        options = {
            "aws_endpoint": endpoint,
            "allow_http": "true",
            "aws_region": "us-east-1",
            "aws_access_key_id": "a",
            "aws_secret_access_key": "b",
            "client_max_retries": "0",
        }
        error = provoked(lambda: lance.dataset("s3://bucket/t", storage_options=options))
    recognised(error, r"<Code>ExpiredToken</Code>")
