"""A newest version that cannot be opened now is no damage: a typed error, and nothing changes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from people import SCHEMA, ids, newest_manifest, rows

from omnigraph_l1 import Table
from omnigraph_l1.errors import StorageError

CALLS: dict[str, Callable[[Table], object]] = {
    "refresh": lambda table: table.refresh(),
    "open": lambda table: Table.open(table.location),
    "write": lambda table: table.append(rows("b")),
}


@contextmanager
def no_more_files() -> Iterator[None]:
    """Let this process open no further file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("call", CALLS)
def test_without_file_descriptors(local: Table, call: str) -> None:
    """Neither an older version nor an internal error comes back, and all is well afterwards."""
    local.append(rows("a"))
    newest = newest_manifest(local)
    with pytest.raises(StorageError, match="Too many open files"), no_more_files():
        CALLS[call](local)
    assert newest_manifest(local) == newest
    assert ids(local.refresh().read()) == ["a"]


AS_NOBODY = """
import os, sys
from omnigraph_l1 import Table
from omnigraph_l1.errors import AccessDenied
location, newest = sys.argv[1:]
table = Table.open(location, version=1)
os.chmod(newest, 0)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for call in (table.refresh, lambda: Table.open(location)):
    try:
        call()
    except AccessDenied:
        continue
    sys.exit("no error")
"""


@pytest.mark.integration
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_written_under_a_umask() -> None:
    """Another user who must not read it is told so, by an open handle as by a new one."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        table = Table.create(Path(folder) / "t", SCHEMA, durability="none")
        table.append(rows("a"))
        newest = newest_manifest(table)
        subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(table.location), str(newest)], check=True
        )
        newest.chmod(0o644)
        assert ids(table.refresh().read()) == ["a"]
