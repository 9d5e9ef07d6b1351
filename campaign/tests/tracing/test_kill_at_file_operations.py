"""Killed at the n-th operation on files, whoever makes it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from campaign.traced_crash import TracedCrash
from campaign.tracing.file_operation_kill import AtFileOperation
from omnigraph_testing import NeverKilled


def save(place: Path) -> None:
    """Write to the side, sync, rename, sync the directory."""
    with (place / "new").open("wb") as file:
        file.write(b"whole")
        file.flush()
        os.fsync(file.fileno())
    (place / "new").rename(place / "file")
    directory = os.open(place, os.O_RDONLY)
    os.fsync(directory)


def two_processes(place: Path) -> None:
    """Write a file here and another in a child."""
    (place / "a").write_bytes(b"a")
    code = f"open({str(place / 'b')!r}, 'w').write('b')"
    subprocess.run([sys.executable, "-c", code], check=True)


def left(crash: TracedCrash, place: Path) -> list[str]:
    """List what is in a directory."""
    return [str(each) for each in crash.tree(place)]


def test_everywhere_on_disk(traced_crash: TracedCrash) -> None:
    """Killed before each operation, a program leaves exactly what the ones before it did."""
    found = [
        left(traced_crash, crashed.directory)
        for crashed in traced_crash.everywhere(save, by="file operations")
    ]
    assert found == [
        [],
        ["new (0 bytes)"],
        ["new (5 bytes)"],
        ["new (5 bytes)"],
        ["file (5 bytes)"],
    ]


def test_after_an_operation(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """With ``at="after"`` the operation has had its effect, and nothing later has."""
    outcome = traced_crash.run(save, tmp_path, kill=AtFileOperation(1, root=tmp_path, at="after"))
    assert outcome.killed
    assert outcome.killed_at == f"after create {tmp_path}/new"
    assert left(traced_crash, tmp_path) == ["new (0 bytes)"]


def test_only_what_matches_is_counted(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """Kind and path choose which operations count."""
    rename = AtFileOperation(1, root=tmp_path, kind="rename", path="*/file")
    assert (
        traced_crash.run(save, tmp_path, kill=rename).killed_at == f"before rename {tmp_path}/file"
    )
    assert left(traced_crash, tmp_path) == ["new (5 bytes)"]


def test_an_operation_that_never_comes_is_an_error(
    traced_crash: TracedCrash, tmp_path: Path
) -> None:
    """A program that does fewer operations was not killed, and the test hears of it."""
    with pytest.raises(NeverKilled, match="before mkdir number 1"):
        traced_crash.run(save, tmp_path, kill=AtFileOperation(1, root=tmp_path, kind="mkdir"))


def test_operations_elsewhere_do_not_count(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """Only what is below the root is counted."""
    (tmp_path / "root").mkdir()
    with pytest.raises(NeverKilled):
        traced_crash.run(save, tmp_path, kill=AtFileOperation(1, root=tmp_path / "root"))


def test_a_child_process_is_killed_with_all_others(
    traced_crash: TracedCrash, tmp_path: Path
) -> None:
    """An operation of a child counts, and all of them die there."""
    kill = AtFileOperation(1, root=tmp_path, kind="write", path="*/b")
    assert traced_crash.run(two_processes, tmp_path, kill=kill).killed
    assert left(traced_crash, tmp_path) == ["a (1 bytes)", "b (0 bytes)"]
