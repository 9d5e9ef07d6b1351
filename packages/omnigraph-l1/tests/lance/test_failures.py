"""Each text by which a failure of Lance is recognised, provoked by the real thing."""

from __future__ import annotations

import http.server
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import write_fragments
from lance.optimize import Compaction, CompactionOptions

from omnigraph_l1 import Place, Resolution, classify
from omnigraph_l1._lance import failures
from omnigraph_l1._lance.failures import LanceFailure, Symptom, lance_border, lance_calls, symptom
from omnigraph_l1.errors import (
    AccessDenied,
    CorruptDataset,
    InvalidData,
    InvalidRequest,
    StorageError,
    StorageFull,
    StoreUnavailable,
)
from omnigraph_testing import Answer, CutRequest, Effect, FaultyS3, Rule, TruncateReply

KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema([pa.field("id", pa.string(), False, KEY), pa.field("x", pa.int64())])


def rows(*ids: str, x: int = 1) -> pa.Table:
    """Rows with these ids."""
    return pa.table({"id": list(ids), "x": [x] * len(ids)}, schema=SCHEMA)


def make(place: Path | str, *ids: str, options: dict[str, str] | None = None) -> LanceDataset:
    """Make a dataset of one version."""
    return lance.write_dataset(
        rows(*ids), str(place), storage_options=options, data_storage_version="2.2"
    )


def again(dataset: LanceDataset) -> LanceDataset:
    """Open it once more, with nothing cached."""
    return lance.dataset(dataset.uri, storage_options=dataset.initial_storage_options)


def append(dataset: LanceDataset, *ids: str) -> LanceDataset:
    """Add rows."""
    return lance.write_dataset(rows(*ids), dataset, mode="append")


def commit(dataset: LanceDataset, operation: Any, base: int) -> LanceDataset:
    """Commit once."""
    transaction = Transaction(read_version=base, operation=operation)
    return LanceDataset.commit(dataset, transaction, max_retries=0)


def merge(dataset: LanceDataset, data: Any) -> None:
    """Upsert by id, once."""
    builder = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    builder.conflict_retries(0).use_index(use_index=False).execute(data)


@attrs.frozen
class Scene:
    """A dataset of two versions on local disk."""

    dataset: LanceDataset

    @property
    def root(self) -> Path:
        """Where it is."""
        return Path(self.dataset.uri)

    def version_file(self, version: int, lineage: str = ".") -> Path:
        """The file of a version."""
        return self.root / lineage / "_versions" / f"{2**64 - 1 - version}.manifest"

    def damage(self, change: Callable[[bytes], bytes], version: int = 2) -> LanceDataset:
        """Damage a version file, and give a handle that saw nothing of it."""
        path = self.version_file(version)
        path.write_bytes(change(path.read_bytes()))
        return lance.dataset(str(self.root), version=1)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A dataset of two versions on local disk."""
    return Scene(append(make(tmp_path / "t", "a", "b"), "c"))


def append_over_overwrite(scene: Scene) -> None:
    """What it wanted to add to is gone."""
    operation = LanceOperation.Append(write_fragments(rows("d"), scene.dataset))
    lance.write_dataset(rows("z"), scene.dataset.uri, mode="overwrite")
    commit(scene.dataset, operation, 2)


def compaction_over_deletion(scene: Scene) -> None:
    """A fragment that was rewritten lost a row meanwhile."""
    plan = Compaction.plan(scene.dataset, CompactionOptions())
    rewritten = [task.execute(scene.dataset) for task in plan.tasks]
    again(scene.dataset).delete("id = 'a'", conflict_retries=0)
    Compaction.commit(scene.dataset, rewritten)


def two_merges(scene: Scene) -> None:
    """Both insert one key."""
    second = again(scene.dataset)
    merge(scene.dataset, rows("new"))
    merge(second, rows("new"))


def fork_twice(scene: Scene) -> None:
    """One name, two branches."""
    scene.dataset.create_branch("x")
    scene.dataset.create_branch("x")


def tag_twice(scene: Scene) -> None:
    """One name, two tags."""
    scene.dataset.tags.create("x", 1)
    scene.dataset.tags.create("x", 1)


def remove_tagged(scene: Scene) -> None:
    """A tag holds the version."""
    scene.dataset.tags.create("x", 1)
    scene.dataset.cleanup_old_versions(versions=[1])


def manifest_of_another_branch(scene: Scene) -> None:
    """Its newest version file is one of main's."""
    branch = scene.dataset.create_branch("x")
    foreign = scene.version_file(2).read_bytes()
    scene.version_file(branch.version + 1, "tree/x").write_bytes(foreign)
    again(scene.dataset).checkout_version(("x", None))


def zeroed_data(scene: Scene) -> None:
    """As a power cut leaves data that was not flushed."""
    for path in (scene.root / "data").iterdir():
        path.write_bytes(bytes(path.stat().st_size))
    again(scene.dataset).to_table()


def nulls_in_a_stream(scene: Scene) -> None:
    """The batches bear the very schema."""
    batch = pa.RecordBatch.from_arrays([pa.array(["q", None]), pa.array([1, 1])], schema=SCHEMA)
    write_fragments(pa.RecordBatchReader.from_batches(SCHEMA, iter([batch])), scene.dataset)


def missing_data(scene: Scene) -> None:
    """Somebody deleted the files."""
    for path in (scene.root / "data").iterdir():
        path.unlink()
    again(scene.dataset).to_table()


def append_columns(scene: Scene, columns: list[pa.Array], names: list[str]) -> None:
    """Columns that may not fit."""
    data = pa.Table.from_arrays(columns, names)
    lance.write_dataset(data, scene.dataset, mode="append")


LOCAL: dict[str, Callable[[Scene], object]] = {
    r"^Incompatible transaction:": append_over_overwrite,
    r"^Retryable commit conflict": compaction_over_deletion,
    r"^Too many concurrent writers": two_merges,
    r"Clone operation should not enter build_manifest": fork_twice,
    r"^Dataset already exists": lambda scene: make(scene.root, "z"),
    r"^Ref conflict error:": tag_twice,
    r"^Ref not found error:": lambda scene: scene.dataset.tags.delete("x"),
    r"^Version not found error:": lambda scene: scene.dataset.tags.create("x", 99),
    r"tagged version\(s\) have been marked for cleanup": remove_tagged,
    r"Generic memory error: Invalid range": lambda scene: again(scene.damage(lambda _: b"")),
    r"Requested range was invalid": lambda scene: scene.damage(lambda _: b"").versions(),
    r"Dataset version 0 does not have a transaction file": lambda scene: append(
        scene.damage(lambda data: bytes(len(data))), "d"
    ),
    r"resolved a manifest belonging to branch": manifest_of_another_branch,
    r"does not appear to be a Lance file": zeroed_data,
    r"range end index \d+ out of range": lambda scene: again(
        scene.damage(lambda data: b"\xff" * 16 + data[16:])
    ),
    r"does not have sufficient data, len:": lambda scene: again(
        scene.damage(lambda data: data[:1])
    ),
    r"encountered corrupt file": lambda scene: scene.damage(lambda data: data[:99]).versions(),
    r"file size is too small": lambda scene: again(scene.damage(lambda data: data[:-1])),
    r"failed to decode Protobuf": lambda scene: again(
        scene.damage(lambda data: data[:-20] + bytes(20))
    ),
    r"_versions/\d+\.manifest was not found": lambda scene: scene.dataset.checkout_version(99),
    r"^Not found: \S*_versions/\d+\.manifest": lambda scene: commit(
        scene.dataset, LanceOperation.Restore(99), 2
    ),
    r"^Dataset at path .* was not found": lambda scene: lance.dataset(str(scene.root / "x")),
    r"Not found:": missing_data,
    r"contained null values even though the field is marked non-null": lambda scene: append_columns(
        scene, [pa.array(["q", None]), pa.array([1, 1])], ["id", "x"]
    ),
    r"is declared as non-nullable but contains null values": nulls_in_a_stream,
    r"^Append with different schema": lambda scene: append_columns(
        scene, [pa.array(["q"])], ["other"]
    ),
    r"Ambiguous merge inserts are prohibited": lambda scene: merge(
        scene.dataset, rows("a", "a", x=2)
    ),
    r"Duplicate field name": lambda scene: append_columns(
        scene, [pa.array(["q"]), pa.array([1]), pa.array([1])], ["id", "x", "x"]
    ),
    r"Invalid user input:": lambda scene: scene.dataset.to_table(filter="nobody = 1"),
    r"Query Execution error:": lambda scene: scene.dataset.to_table(filter="x / 0 > 1"),
}

REMOTE: dict[str, Effect] = {
    r"^Commit conflict for version": Answer(412),
    r"403 Forbidden": Answer(403),
    r"401 Unauthorized": Answer(401),
    r"error sending request": CutRequest(),
    r"status code: 5\d\d": Answer(504),
    r"status code: 429": Answer(429),
}

OTHERWISE = {
    r"<Code>ExpiredToken</Code>",
    r"Range started at 0 and ended at 0",
    r"request or response body error",
    r"<Code>NoSuchBucket</Code>",
    r"Commit result for version \d+ is unknown",
}


def provoked(call: Callable[[], object]) -> BaseException:
    """Give what the call raises: a panic of Lance is no ``Exception``."""
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        call()
    return caught.value


def recognised(error: BaseException, text: str) -> None:
    """The failure bears this text, and it is this text that gives it its meaning."""
    meaning, pattern = next(
        (meaning, pattern) for meaning, pattern in failures._TEXTS if pattern == text
    )
    assert re.search(pattern, str(error), re.IGNORECASE), f"{type(error).__name__}: {error}"
    assert symptom(error) is meaning, str(error)
    before = [other for _, other in failures._TEXTS[: failures._TEXTS.index((meaning, pattern))]]
    assert not [one for one in before if re.search(one, str(error), re.IGNORECASE)]


def test_each_text_has_a_test_here() -> None:
    """A text that nothing provokes may be misspelt, or be gone with a new version of Lance."""
    texts = [text for _, text in failures._TEXTS]
    assert len(texts) == len(set(texts))
    assert set(texts) == LOCAL.keys() | REMOTE.keys() | OTHERWISE
    assert {meaning for meaning, _ in failures._TEXTS} | {Symptom.FULL} == set(Symptom)


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


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_numbers_of_the_operating_system(small_disk: Path) -> None:
    """A full disk, and one that may not be written: known by number, in any language."""
    dataset = make(small_disk / "t", "a")
    noise = random.Random(1)
    big = rows(*(noise.randbytes(100).hex() for _ in range(20_000)))
    full = provoked(lambda: lance.write_dataset(big, dataset, mode="append"))
    assert "(os error 28)" in str(full)
    assert symptom(full) is Symptom.FULL
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    fixed = provoked(lambda: append(dataset, "b"))
    assert "(os error 30)" in str(fixed)
    assert symptom(fixed) is Symptom.DENIED


UNPRIVILEGED = """
import os, sys, lance, pyarrow as pa
dataset = lance.dataset(sys.argv[1])
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    lance.write_dataset(dataset.to_table(), dataset, mode="append")
except OSError as error:
    print(error)
"""


def test_the_number_of_permission_denied() -> None:
    """A user who may not write."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        make(Path(folder) / "t", "a")
        script = [sys.executable, "-c", UNPRIVILEGED, f"{folder}/t"]
        told = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert "(os error 13)" in told
    assert symptom(OSError(told)) is Symptom.DENIED


def test_a_panic_of_lance_is_a_failure_like_others(scene: Scene) -> None:
    """It derives from BaseException alone, and does not pass through."""
    older = scene.damage(lambda data: b"\xff" * 16 + data[16:])
    panic = provoked(lambda: again(older))
    assert not isinstance(panic, Exception)
    with pytest.raises(LanceFailure) as caught, lance_calls():
        again(older)
    assert type(caught.value.cause) is type(panic)
    with pytest.raises(CorruptDataset), lance_border(Place.parse(str(scene.root))):
        again(older)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration])
def test_what_lance_does_not_raise_passes(error: type[BaseException]) -> None:
    """Nobody's interrupt becomes a failure of the store."""
    with pytest.raises(error), lance_calls():
        raise error


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
def test_each_meaning_has_its_error(said: str, expected: type[Exception]) -> None:
    """Where nothing special was being done."""
    place = Place.parse("s3://bucket/t")
    assert type(LanceFailure(OSError(said)).at(place)) is expected


def test_conflicts_are_classified(scene: Scene) -> None:
    """By Lance's own word where it gives one, by its text where it does not."""
    assert classify(provoked(lambda: compaction_over_deletion(scene))) is Resolution.RETRYABLE
    assert classify(OSError("Incompatible transaction: x")) is Resolution.INCOMPATIBLE
    assert classify(OSError("Too many concurrent writers")) is Resolution.RETRYABLE
    assert classify(OSError("something else")) is None
    assert classify(ValueError("Invalid user input: x")) is None
