"""How Lance writes on the local disk: what is flushed, linked and renamed, seen by strace."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ._support import manifest_name

pytestmark = pytest.mark.integration

CALLS = "fsync,fdatasync,sync,syncfs,sync_file_range,msync,link,linkat,rename,renameat,renameat2"
CODE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from _support import *
ds = create(sys.argv[1], "a")
upsert(append(ds, "b"), "a")
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The calls of three commits in a process of their own."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed (Debian: apt-get install strace)")
    location = tmp_path_factory.mktemp("traced")
    out = location / "trace"
    command = [strace, "-f", "-y", "-e", f"trace={CALLS}", "-o", str(out)]
    done = subprocess.run(
        [*command, sys.executable, "-c", CODE, str(location / "t")],
        capture_output=True,
        text=True,
        check=False,
    )
    if "PTRACE" in done.stderr or "ptrace" in done.stderr:
        pytest.skip(f"strace is not allowed here: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stderr
    return "\n".join(line for line in out.read_text().splitlines() if str(location) in line)


def test_nothing_is_flushed(trace: str) -> None:
    """Nothing is fsynced on local disk (strace: none in three commits)."""
    assert "sync" not in trace.replace(CALLS, ""), trace


def test_a_version_file_is_linked_into_its_place(trace: str) -> None:
    """The atomic put of a version on local disk is link(2) from <name>#1: it fails where the
    name is taken.
    """
    for version in (1, 2, 3):
        name = manifest_name(version)
        assert any(
            "link" in line and f"{name}#1" in line and line.count(name) == 2
            for line in trace.splitlines()
        ), trace
