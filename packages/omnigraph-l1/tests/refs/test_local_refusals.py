"""Refs on local disk where the system says no: rights, locations, a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from omnigraph_l1 import JsonRefs
from omnigraph_l1.errors import AccessDenied, StorageError, StorageFull

NOBODY = 65534
UNPRIVILEGED = """
import os, sys
import omnigraph_l1
from omnigraph_l1 import JsonRefs, Storage
from omnigraph_l1.errors import L1Error
os.setgroups([]); os.setgid({uid}); os.setuid({uid})
refs = JsonRefs.open(sys.argv[1], "_refs")
def tell(name, attempt):
    try:
        print(name, type(attempt()).__name__)
    except L1Error as error:
        print(name, error.kind)
tell("get", lambda: refs.get("main"))
tell("list", lambda: refs.list())
tell("create", lambda: refs.create("new", {{}}))
tell("probe", lambda: refs.probe())
"""


def _as_nobody(location: Path) -> dict[str, str]:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    code = UNPRIVILEGED.format(uid=NOBODY)
    command = [sys.executable, "-c", code, str(location)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """Return a directory that other users can reach: those of pytest are for one user alone."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


def test_a_directory_that_can_only_be_read(open_directory: Path) -> None:
    """Who may read and not write reads all, and gets AccessDenied for the rest."""
    JsonRefs.open(open_directory, "_refs").create("main", {})
    told = _as_nobody(open_directory)
    denied = AccessDenied.kind
    assert told == {"get": "Ref", "list": "tuple", "create": denied, "probe": denied}


def test_a_directory_that_cannot_be_read(open_directory: Path) -> None:
    """Who may not even read gets AccessDenied for everything: refs that cannot be seen are not
    "not there".
    """
    JsonRefs.open(open_directory, "_refs").create("main", {})
    (open_directory / "_refs").chmod(0o700)
    assert set(_as_nobody(open_directory).values()) == {AccessDenied.kind}


def test_a_place_where_nothing_may_be_made(open_directory: Path) -> None:
    """Who may not make the directory finds nothing, and gets AccessDenied for writing."""
    told = _as_nobody(open_directory)
    denied = AccessDenied.kind
    assert told == {"get": "NoneType", "list": "tuple", "create": denied, "probe": denied}


def test_a_place_below_a_file(tmp_path: Path) -> None:
    """A location that is below a file is a StorageError for writing."""
    (tmp_path / "file").write_text("x")
    refs = JsonRefs.open(tmp_path / "file", "_refs")
    assert refs.get("main") is None
    with pytest.raises(StorageError):
        refs.create("main", {})


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 128 KiB."""
    location = tmp_path / "small"
    location.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k,mode=777", "tmpfs", str(location)]
    try:
        mounted = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted: {mounted.stderr.strip()}")
    yield location
    subprocess.run(["umount", str(location)], check=True, timeout=30)


def test_a_full_disk(small_disk: Path) -> None:
    """On a full disk a change is StorageFull; nothing changed, nothing is left, reading and
    deleting work, and with room all goes on.
    """
    refs = JsonRefs.open(small_disk, "_refs")
    ref = refs.create("main", {"n": 1})
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        filler.write_bytes(b"x" * (1 << 20))
    for attempt in (partial(refs.replace, ref, {"n": "x" * 9000}), partial(refs.create, "x", {})):
        with pytest.raises(StorageFull):
            attempt()
    assert refs.list() == (ref,)
    assert list((small_disk / "_refs" / ".side").iterdir()) == []
    filler.unlink()
    ref = refs.replace(ref, {"n": 2})
    assert refs.list() == (ref,)
