"""Bad input: a typed error that names all that is wrong, and nothing changed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pytest
from people import SCHEMA, ids, rows

from omnigraph_l1 import JsonRefs, Storage, Table
from omnigraph_l1.errors import (
    AccessDenied,
    InvalidData,
    InvalidFilter,
    InvalidRequest,
    L1Error,
    StorageFull,
    StoreUnavailable,
)


@pytest.fixture
def filled(table: Table) -> Table:
    """A few rows, whose version must stay the newest."""
    return table.append(rows("a", "b")).table


def refused(table: Table, error: type[L1Error], attempt: Callable[[], object]) -> L1Error:
    """Expect an error, and that the table is as it was."""
    with pytest.raises(error) as caught:
        attempt()
    assert table.refresh().version == table.version
    assert str(table.location) in str(caught.value)
    return caught.value


def test_all_problems_of_a_schema_are_told_at_once(filled: Table) -> None:
    """Missing, unknown, mistyped and repeated columns, in one error."""
    data = pa.Table.from_arrays(
        [pa.array([1]), pa.array(["x"]), pa.array([1]), pa.array([2])],
        names=["age", "colour", "city", "city"],
    )
    for write in (filled.append, filled.overwrite, lambda data: filled.upsert(data, "id")):
        error = refused(filled, InvalidData, lambda write=write: write(data))
        assert isinstance(error, InvalidData)
        problems = {problem.column: problem.problem for problem in error.problems}
        assert set(problems) == {"id", "age", "colour", "city"}
        assert "missing" in problems["id"]
        assert "int32" in problems["age"]
        assert "int64" in problems["age"]
        assert "no column" in problems["colour"]
        assert "more than once" in problems["city"]


def test_nulls_where_none_may_be(filled: Table) -> None:
    """The column and the row are named, also when the null comes late in a stream."""
    late = [rows("c").to_batches()[0]]
    late.append(
        pa.RecordBatch.from_pydict(
            {"id": ["d", None], "age": pa.array([1, 1], pa.int32()), "city": ["x", "y"]}
        )
    )
    relaxed = late[1].schema
    reader = pa.RecordBatchReader.from_batches(relaxed, [b.cast(relaxed) for b in late])
    error = refused(filled, InvalidData, lambda: filled.append(reader))
    assert isinstance(error, InvalidData)
    assert [str(problem) for problem in error.problems] == ["id: is null in row 2, but may not be"]


def test_keys_that_stand_twice_in_an_upsert(filled: Table) -> None:
    """Lance would insert both."""
    error = refused(filled, InvalidData, lambda: filled.upsert(rows("c", "d", "c"), "id"))
    assert "'c'" in str(error)
    refused(filled, InvalidData, lambda: filled.upsert(rows("a", "a"), "id"))
    twice = rows("k", "k")
    refused(
        filled,
        InvalidData,
        lambda: filled.cas_merge(twice, key="id", write_id="w"),
    )


def test_a_wrong_key_column(filled: Table) -> None:
    """The key must be a column, and for an exclusive merge an annotated one."""
    refused(filled, InvalidData, lambda: filled.upsert(rows("c"), "nokey"))
    refused(filled, InvalidData, lambda: filled.delete_keys("nokey", ["a"]))
    refused(filled, InvalidData, lambda: filled.find("nokey", ["a"]))
    refused(filled, InvalidData, lambda: filled.create_index("nokey"))
    error = refused(
        filled,
        InvalidRequest,
        lambda: filled.cas_merge(rows("c"), key="city", write_id="w"),
    )
    assert "annotate" in str(error)


def test_nulls_in_a_key_that_may_be_null_otherwise(filled: Table) -> None:
    """A column that allows nulls can be a key, but its key values cannot be null."""
    error = refused(filled, InvalidData, lambda: filled.upsert(rows("c", city=None), "city"))
    assert "city" in str(error)


def test_what_is_not_arrow_data(filled: Table) -> None:
    """The type that was given is named."""
    error = refused(filled, InvalidData, lambda: filled.append([{"id": "c"}]))
    assert "list" in str(error)


@pytest.mark.parametrize(
    "text", ["nobody = 1", "age = = 1", "no_such_function(age)", "age / 0 = 1", ""]
)
def test_filters_that_are_none(filled: Table, text: str) -> None:
    """In reading, counting and deleting; the filter is in the error."""
    for attempt in (lambda: filled.read(filter=text), lambda: filled.delete(text)):
        error = refused(filled, InvalidFilter, attempt)
        assert isinstance(error, InvalidFilter)
        assert error.filter == text


def test_columns_that_are_none(filled: Table) -> None:
    """All of them are named."""
    error = refused(filled, InvalidData, lambda: filled.read(columns=["id", "x", "y"]))
    assert isinstance(error, InvalidData)
    assert [problem.column for problem in error.problems] == ["x", "y"]


def test_a_staged_change_is_held_to_its_version(filled: Table) -> None:
    """An upsert that was computed on one version is not committed on another."""
    staged = filled.stage_upsert(rows("c"), "id")
    later = filled.append(rows("d")).table
    with pytest.raises(InvalidRequest, match="stage it again"):
        later.commit(staged)
    assert later.refresh().version == later.version


def test_a_delta_against_the_future(filled: Table) -> None:
    """The versions are named."""
    refused(filled, InvalidRequest, lambda: filled.delta(99))


def test_a_schema_that_lance_cannot_store(tmp_path: Path) -> None:
    """The reason is Lance's, the error is ours, and nothing is left in the way."""
    impossible = pa.schema(
        [pa.field("id", pa.string(), nullable=False), ("m", pa.month_day_nano_interval())]
    )
    with pytest.raises(InvalidRequest):
        Table.create(tmp_path / "t", impossible)
    assert Table.create(tmp_path / "t", SCHEMA).count() == 0


def test_a_store_that_is_down_is_told_within_seconds() -> None:
    """No reply for minutes is no answer: the port is closed, and the error says so."""
    options = {
        "endpoint": "http://127.0.0.1:9",
        "allow_http": "true",
        "region": "us-east-1",
        "access_key_id": "a",
        "secret_access_key": "hidden-secret",
    }
    with pytest.raises(StoreUnavailable) as caught:
        Table.open(Storage.resolve("s3://bucket/t", options))
    assert "hidden-secret" not in str(caught.value)
    with pytest.raises(StoreUnavailable):
        Table.create(Storage.resolve("s3://bucket/t", options), SCHEMA)


@pytest.mark.integration
def test_wrong_credentials_and_no_such_bucket(s3_store: object) -> None:
    """Refused access is told apart from a location that is not there; no secret is shown."""
    store: object = s3_store
    wrong = {**store.storage_options, "secret_access_key": "hidden-secret"}  # type: ignore[attr-defined]
    wrong = {k: v for k, v in wrong.items() if k.lower() != "aws_secret_access_key"}
    with pytest.raises(AccessDenied) as caught:
        Table.open(store.uri("t"), storage_options=wrong)  # type: ignore[attr-defined]
    assert "hidden-secret" not in str(caught.value)
    with pytest.raises(L1Error, match="bucket"):
        Table.open("s3://no-such-bucket/t", storage_options=store.storage_options)  # type: ignore[attr-defined]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    location = tmp_path / "small"
    location.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(location)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield location
    subprocess.run(["umount", str(location)], check=True)


def test_a_full_disk_and_one_that_is_read_only(small_disk: Path) -> None:
    """The write is refused by name, and what was there is there, and readable."""
    table = Table.create(small_disk / "t", SCHEMA).append(rows("a")).table
    noise = random.Random(1)
    big = rows(*(noise.randbytes(100).hex() for _ in range(20_000)))
    with pytest.raises(StorageFull):
        table.append(big)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(AccessDenied):
        table.append(rows("b"))
    assert ids(table.refresh().read()) == ["a"]
    assert table.refresh().version == table.version


# Everything is used once while we are root: nobody may not even read the interpreter's files.
UNPRIVILEGED = """
import os, sys, tempfile
import pyarrow as pa
from omnigraph_l1 import Table
from omnigraph_l1.errors import AccessDenied
location = sys.argv[1]
warm = Table.create(tempfile.mkdtemp() + "/t", pa.schema([pa.field("id", pa.string(), False)]))
warm.append(pa.table({"id": ["x"]}, schema=warm.schema)).table.fork("b.1").read()
os.setgroups([]); os.setgid(65534); os.setuid(65534)
def refused(attempt):
    try:
        attempt()
    except AccessDenied:
        return "refused"
    return "done"
if os.access(location + "/_versions", os.R_OK):
    table = Table.open(location)
    print(table.count())
    row = pa.table({"id": ["x"]}, schema=pa.schema([table.schema.field("id")]))
    print(refused(lambda: table.append(row)))
    print(refused(lambda: table.fork("b.1")))
    print(refused(lambda: table.tag("b.1")))
else:
    print(refused(lambda: Table.open(location)))
print(refused(lambda: Table.create(location + "-other", pa.schema([("id", pa.string())]))))
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder into which every user may look: those of pytest are for one user alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def as_nobody(location: Path) -> list[str]:
    """Run the script above as a user that owns nothing."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, str(location)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.integration
def test_a_directory_that_may_only_be_read(open_folder: Path) -> None:
    """Reading works, writing is refused by name."""
    Table.create(open_folder / "t", SCHEMA).append(rows("a"))
    assert as_nobody(open_folder / "t") == ["1", *["refused"] * 4]


@pytest.mark.integration
def test_a_directory_that_may_not_be_read(open_folder: Path) -> None:
    """Opening is refused by name."""
    Table.create(open_folder / "t", SCHEMA)
    (open_folder / "t" / "_versions").chmod(0o700)
    assert as_nobody(open_folder / "t") == ["refused"] * 2


class Quoting(BaseHTTPRequestHandler):
    """A store that refuses everything, and quotes the token that came with it, as S3 does."""

    def answer(self) -> None:
        """Refuse."""
        token = self.headers["x-amz-security-token"]
        start = (
            '<?xml version="1.0"?>\n<Error><Code>InvalidToken</Code><Message>malformed</Message>'
        )
        body = f"{start}<Token-0>{token}</Token-0></Error>".encode()
        self.send_response(400)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def quoting_store() -> Iterator[Storage]:
    """A location in such a store."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Quoting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        options = {
            "endpoint": f"http://127.0.0.1:{server.server_port}",
            "allow_http": "true",
            "region": "us-east-1",
            "access_key_id": "a",
            "secret_access_key": "b",
            "session_token": "hidden-session",
            "client_max_retries": "0",
        }
        yield Storage.resolve("s3://bucket/t", options)
        server.shutdown()
        thread.join()


def test_a_store_that_quotes_secrets(quoting_store: Storage) -> None:
    """What it quotes stands in no error, and in no traceback of one; its code does."""
    attempts: list[Callable[[], object]] = [
        lambda: Table.open(quoting_store),
        lambda: Table.open(quoting_store, branch="b"),
        lambda: Table.create(quoting_store, SCHEMA),
        lambda: JsonRefs.open(quoting_store).get("name"),
        lambda: JsonRefs.open(quoting_store).create("name", {}),
    ]
    for attempt in attempts:
        with pytest.raises(L1Error, match="InvalidToken") as caught:
            attempt()
        assert "hidden-session" not in "".join(traceback.format_exception(caught.value))
