"""The program as a process: exit status, a broken pipe, Ctrl-C, a terminal, a missing extra."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_run import RunCommand
from listening import LISTENING
from pseudo_terminal import start_on_terminal

pytestmark = pytest.mark.usefixtures("processes")

_PROGRAM = (sys.executable, "-m", "omnigraph_l2")
_TIMEOUT = 120


def test_a_failure_has_a_status_and_one_message(graph: RunCommand) -> None:
    """The error is on standard error, and standard output is empty."""
    failed = subprocess.run(
        [*_PROGRAM, "cat", "node:Unknown", "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT,
    )
    assert (failed.returncode, failed.stdout) == (1, "")
    assert json.loads(failed.stderr)["error"]["kind"] == "unknown_table"


def test_a_missing_extra_is_reported(folder: Path) -> None:
    """One sentence says what to install, and the status is 2."""
    code = (
        "import sys, importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'cyclopts' else find(name, *rest)\n"
        "sys.modules['cyclopts'] = None\n"
        "import runpy; runpy.run_module('omnigraph_l2', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "omnigraph: the command line is not installed: pip install 'omnigraph-l2[cli]'\n"
    )


def test_a_closed_pipe_ends_it_quietly(graph: RunCommand, folder: Path) -> None:
    """As with ``| head -1``: nothing is printed, and the status is that of SIGPIPE."""
    lines = [json.dumps({"id": f"n{number}", "name": "x" * 100}) for number in range(20_000)]
    (folder / "many.ndjson").write_text("\n".join(lines))
    graph("load", "node:Person", "many.ndjson")
    with subprocess.Popen(
        [*_PROGRAM, "cat", "node:Person", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert json.loads(program.stdout.readline())
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait(_TIMEOUT) == 141


def test_an_interrupt_during_start_up_is_quiet(folder: Path) -> None:
    """No traceback is printed."""
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'cyclopts.utils': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "import runpy; runpy.run_module('omnigraph_l2', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_an_interrupted_load_publishes_nothing(graph: RunCommand) -> None:
    """SIGINT in the middle of a load: status 130, no commit, and the next load works."""
    with subprocess.Popen(
        [*LISTENING, "load", "node:Person", "-", "--format", "ndjson", "--quiet"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    ) as program:
        assert program.stdin is not None
        rows = b"".join(b'{"id": "s%d", "name": "%s"}\n' % (n, b"x" * 50) for n in range(20_000))
        program.stdin.write(rows)  # more than a pipe holds: it is reading when this returns
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=_TIMEOUT)
    assert (program.returncode, out, err) == (130, b"", b"")
    assert len(graph("log", "--json").lines) == 2
    graph("load", "node:Person", "people.csv", "--mode", "upsert")
    assert graph("verify", "--json").document["ok"]


def test_long_results_go_to_the_pager_on_a_terminal(graph: RunCommand, folder: Path) -> None:
    """The pager of the user shows the result."""
    pager = folder / "pager"
    pager.write_text("#!/bin/sh\necho paged\ncat\n")
    pager.chmod(0o755)
    status, shown = start_on_terminal("log", PAGER=str(pager))
    assert status == 0
    assert "paged" in shown
    assert "first load" in shown
