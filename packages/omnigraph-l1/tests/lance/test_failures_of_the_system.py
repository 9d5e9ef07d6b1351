"""What the operating system refuses, and what expired, come through Lance as what they are."""

from __future__ import annotations

import http.server
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lance
import pytest
from provocations import append, make, provoked, recognised, rows

from omnigraph_l1._lance.failures import Symptom, symptom


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
