"""The program as a process: a terminal, a pipe that breaks, Ctrl-C, a missing extra."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from listening import LISTENING
from program_runs import Og
from terminals import on_terminal

pytestmark = pytest.mark.usefixtures("processes")

_PROGRAM = (sys.executable, "-m", "omnigraph_l2")
_PATIENCE = 120


def _ran(*typed: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_PROGRAM, *typed], capture_output=True, text=True, check=False, timeout=_PATIENCE,
        env={**os.environ, **(env or {})},
    )  # fmt: skip


def test_it_ends_with_a_status_and_one_message(graph: Og, folder: Path) -> None:
    """Results on standard output, all else on standard error."""
    failed = _ran("cat", "node:Nobody", "--json")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert json.loads(failed.stderr)["error"]["kind"] == "unknown_table"
    done = _ran("diff", "1", "--exit-code", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["tables"]


def test_without_the_extra_it_says_what_to_install(folder: Path) -> None:
    """One sentence, and status 2."""
    code = (
        "import sys, importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'cyclopts' else find(name, *rest)\n"
        "sys.modules['cyclopts'] = None\n"
        "from omnigraph_l2._cli.entry import main; sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "omnigraph: the command line is not installed: pip install 'omnigraph-l2[cli]'\n"
    )


def test_a_reader_that_has_enough_ends_it_quietly(graph: Og, folder: Path) -> None:
    """As with ``| head -1``: nothing is said, and the status tells of it."""
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
        assert program.wait(_PATIENCE) == 141


def test_interrupted_while_it_starts_it_is_quiet(folder: Path) -> None:
    """There is no traceback, wherever it is."""
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'cyclopts.utils': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from omnigraph_l2._cli.entry import main; sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_interrupted_it_leaves_nothing_half_done(graph: Og, folder: Path) -> None:
    """SIGINT in the middle of a load: status 130, no commit, and the next load works."""
    with subprocess.Popen(
        [*LISTENING, "load", "node:Person", "-", "--format", "ndjson", "--quiet"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    ) as program:  # fmt: skip
        assert program.stdin is not None
        rows = b"".join(b'{"id": "s%d", "name": "%s"}\n' % (n, b"x" * 50) for n in range(20_000))
        program.stdin.write(rows)  # more than a pipe holds: it reads when this comes back
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=_PATIENCE)
    assert (program.returncode, out, err) == (130, b"", b"")
    assert len(graph("log", "--json").lines) == 2
    graph("load", "node:Person", "people.csv", "--mode", "upsert")
    assert graph("verify", "--json").document["ok"]


def test_on_a_terminal_there_are_colours_and_nothing_harmful(graph: Og, folder: Path) -> None:
    """Colours are ours; what came from data is spelled out; NO_COLOR is honoured."""
    (folder / "evil.csv").write_text("id,name,age\ne,\x1b]0;title\x07,1\n")
    graph("load", "node:Person", "evil.csv", "-m", "\x1b[2J")
    status, shown = on_terminal("log")
    assert status == 0
    assert "\x1b[33m" in shown
    assert "\\x1b[2J" in shown
    assert "\x1b[2J" not in shown
    _, table = on_terminal("cat", "node:Person", "--format", "csv", env={"NO_COLOR": "1"})
    assert "\\x1b]0;title\\x07" in table
    assert "\x1b" not in table


def test_long_results_go_to_the_pager_of_a_terminal(graph: Og, folder: Path) -> None:
    """And nowhere else; progress of a load is drawn, and gone when it is done."""
    pager = folder / "pager"
    pager.write_text("#!/bin/sh\necho paged\ncat\n")
    pager.chmod(0o755)
    around = {"PAGER": str(pager)}
    status, shown = on_terminal("log", env=around)
    assert status == 0
    assert "paged" in shown
    assert "first load" in shown
    assert "paged" not in on_terminal("log", "--no-pager", env=around)[1]
    assert "paged" not in _ran("log", env=around).stdout
