"""The program and its standard streams: full, closed, of any encoding; pagers that are none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from program_runs import Og
from terminals import on_terminal

pytestmark = pytest.mark.usefixtures("processes")

_PROGRAM = f"{sys.executable} -m omnigraph_l2"


def _shell(line: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    # Without buffers, there is nothing left to be written when Python ends.
    around = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["bash", "-c", line.replace("omnigraph", _PROGRAM, 1)], capture_output=True, check=False,
        env={**around, **env}, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("typed", ["cat node:Person", "log --graph", "--help"])
def test_results_that_cannot_be_written_are_told(graph: Og, typed: str) -> None:
    """A full disk is no bug of ours, and ends no traceback."""
    failed = _shell(f"omnigraph {typed} > /dev/full")
    assert (failed.returncode, failed.stderr.decode()) == (
        1, "failed: the results could not be written: No space left on device\n",
    )  # fmt: skip


def test_streams_may_be_closed(graph: Og) -> None:
    """What nobody wants to see is not told; an input that is not there is empty."""
    assert _shell("omnigraph tables >&-").stderr == b""
    gone = _shell("omnigraph tables --repo nowhere 2>&-")
    assert (gone.returncode, gone.stdout) == (1, b"")
    assert _shell("omnigraph tables --repo nowhere >/dev/full 2>/dev/full").returncode == 1
    empty = _shell("omnigraph load node:Person - --format csv <&-")
    assert (empty.returncode, empty.stdout) == (2, b"")
    assert empty.stderr.startswith(b"usage: /dev/stdin is empty")


def test_results_are_utf8_whatever_the_locale(graph: Og, folder: Path) -> None:
    """For programs; a terminal that lacks a character has it spelled out."""
    (folder / "u.csv").write_text("id,name\nü,Ümit\n")
    graph("load", "node:Person", "u.csv")
    shown = _shell("omnigraph cat node:Person --format csv", PYTHONIOENCODING="ascii").stdout
    assert shown.decode().splitlines()[-1] == "ü,Ümit,"
    assert "→" in _shell("omnigraph schema", PYTHONIOENCODING="ascii").stdout.decode()
    status, shown_there = on_terminal("cat", "node:Person", env={"PYTHONIOENCODING": "ascii"})
    assert (status, r"\xfc" in shown_there) == (0, True)


@pytest.mark.parametrize("pager", ["less '", "/nowhere/pager", "./no-program"])
def test_a_pager_that_cannot_be_started_is_left_out(graph: Og, folder: Path, pager: str) -> None:
    """The result is shown all the same."""
    (folder / "no-program").write_bytes(b"\0")
    (folder / "no-program").chmod(0o755)
    status, shown = on_terminal("log", env={"PAGER": pager})
    assert (status, "first load" in shown) == (0, True)


def test_a_dumb_terminal_has_no_pager(graph: Og, folder: Path) -> None:
    """It could not be moved in, and warns."""
    pager = folder / "pager"
    pager.write_text("#!/bin/sh\necho paged\ncat\n")
    pager.chmod(0o755)
    _, shown = on_terminal("log", env={"PAGER": str(pager), "TERM": "dumb"})
    assert "paged" not in shown
    assert "\x1b" not in shown
