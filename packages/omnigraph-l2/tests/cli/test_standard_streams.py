"""The standard streams: full, closed, of any encoding; terminals and their pagers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_run import RunCommand
from pseudo_terminal import RunOnTerminal

_PROGRAM = f"{sys.executable} -m omnigraph_l2"


def _shell(line: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    # Without buffers, nothing would be left to be written when Python exits.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["bash", "-c", line.replace("omnigraph", _PROGRAM, 1)],
        capture_output=True,
        check=False,
        env={**inherited, **environ},
        timeout=120,
    )


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("arguments", ["cat node:Person", "--help"])
def test_a_full_disk_is_reported(graph: RunCommand, arguments: str) -> None:
    """Results that cannot be written are an error of one line, without a traceback."""
    failed = _shell(f"omnigraph {arguments} > /dev/full")
    assert (failed.returncode, failed.stderr.decode()) == (
        1,
        "failed: Cannot write the results: No space left on device\n",
    )


@pytest.mark.usefixtures("processes")
def test_streams_may_be_closed(graph: RunCommand) -> None:
    """Output to a closed stream is discarded; closed standard input is empty."""
    assert _shell("omnigraph --show-completion bash >&-").stderr == b""
    closed = _shell("omnigraph lod 2>&-")
    assert (closed.returncode, closed.stdout) == (2, b"")
    assert _shell("omnigraph lod >/dev/full 2>/dev/full").returncode == 2
    empty = _shell("omnigraph load node:Person - --format csv <&-")
    assert (empty.returncode, empty.stdout) == (2, b"")
    assert empty.stderr.startswith(b"usage: /dev/stdin is empty")


@pytest.mark.usefixtures("processes")
def test_output_to_a_pipe_is_utf8(graph: RunCommand, folder: Path) -> None:
    """Whatever the locale is."""
    (folder / "u.csv").write_text("id,name\nü,Ümit\n")
    graph("load", "node:Person", "u.csv")
    shown = _shell("omnigraph cat node:Person --format csv", PYTHONIOENCODING="ascii").stdout
    assert shown.decode().splitlines()[-1] == "ü,Ümit,"


def test_a_terminal_shows_unsupported_characters_escaped(
    graph: RunCommand, folder: Path, on_terminal: RunOnTerminal
) -> None:
    """A terminal keeps its encoding."""
    (folder / "u.csv").write_text("id,name\nü,Ümit\n")
    graph("load", "node:Person", "u.csv")
    status, shown = on_terminal("cat", "node:Person", encoding="ascii")
    assert (status, r"\xfc" in shown) == (0, True)


def test_a_terminal_has_colours_and_no_control_characters_of_data(
    graph: RunCommand, folder: Path, on_terminal: RunOnTerminal
) -> None:
    """The colours are ours; text from data is escaped; NO_COLOR is respected."""
    (folder / "evil.csv").write_text("id,name,age\ne,\x1b]0;title\x07,1\n")
    graph("load", "node:Person", "evil.csv", "-m", "\x1b[2J")
    status, shown = on_terminal("log")
    assert status == 0
    assert "\x1b[33m" in shown
    assert "\\x1b[2J" in shown
    assert "\x1b[2J" not in shown
    _, table = on_terminal("cat", "node:Person", "--format", "csv", NO_COLOR="1")
    assert "\\x1b]0;title\\x07" in table
    assert "\x1b" not in table


@pytest.mark.parametrize("pager", ["less '", "/nowhere/pager", "./no-program"])
def test_without_a_working_pager_the_result_is_shown(
    graph: RunCommand, folder: Path, on_terminal: RunOnTerminal, pager: str
) -> None:
    """A pager that cannot be started is ignored."""
    (folder / "no-program").write_bytes(b"\0")
    (folder / "no-program").chmod(0o755)
    status, shown = on_terminal("log", PAGER=pager)
    assert (status, "first load" in shown) == (0, True)


@pytest.mark.parametrize(
    ("options", "environ"),
    [((), {"TERM": "dumb"}), (("--no-pager",), {}), ((), {"OMNIGRAPH_PAGER": ""})],
    ids=["dumb", "option", "environment"],
)
def test_the_pager_can_be_switched_off(
    graph: RunCommand,
    folder: Path,
    on_terminal: RunOnTerminal,
    options: tuple[str, ...],
    environ: dict[str, str],
) -> None:
    """A dumb terminal has no pager either."""
    pager = folder / "pager"
    pager.write_text("#!/bin/sh\ntouch started\ncat\n")
    pager.chmod(0o755)
    status, shown = on_terminal("log", *options, PAGER=str(pager), **environ)
    assert (status, "first load" in shown) == (0, True)
    assert not (folder / "started").exists()
    if environ.get("TERM") == "dumb":
        assert "\x1b" not in shown


def test_there_is_no_pager_without_a_terminal(
    graph: RunCommand, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output to a file or a pipe is written directly."""
    pager = folder / "pager"
    pager.write_text("#!/bin/sh\ntouch started\ncat\n")
    pager.chmod(0o755)
    monkeypatch.setenv("PAGER", str(pager))
    assert "first load" in graph("log").out
    assert not (folder / "started").exists()
