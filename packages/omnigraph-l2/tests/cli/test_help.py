"""Help and completion: there at once, without noise, and right in a real shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from program_runs import Og

from omnigraph_l2._cli.app import app

_COMMANDS = (
    "init", "load", "cat", "diff", "explore", "info", "log", "schema", "tables", "branch create",
    "branch delete", "branch list", "evolve", "merge", "revert", "runs abort", "runs list",
    "runs show", "tag create", "tag delete", "tag list", "cleanup", "migrate", "optimize", "repair",
    "verify",
)  # fmt: skip


@pytest.mark.usefixtures("processes")
def test_help_needs_neither_lance_nor_arrow(folder: Path) -> None:
    """So that it is there at once, also that of a command."""
    code = (
        "import sys; from omnigraph_l2._cli.program import run\n"
        "assert run(['--help']) == run(['cat', '--help']) == run(['lod']) - 2 == 0\n"
        "heavy = {'lance', 'pyarrow', 'numpy', 'structlog', 'obstore'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_has_no_noise(og: Og) -> None:
    """No default that says nothing; what holds for all commands stands in one place."""
    assert "Exit status" in " ".join(og("--help").out.split())
    for command in (*_COMMANDS, "branch", "runs", "tag"):
        shown = og(*command.split(), "--help").out
        assert "[default: False]" not in shown
        assert "[default: True]" not in shown
        assert "[default: ()]" not in shown
        assert "Exit status" not in " ".join(shown.split())
    assert "[default: main]" in og("cat", "--help").out


_ASK = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
$(complete -p omnigraph | sed 's/.*-F \\([^ ]*\\).*/\\1/')
printf '%s\\n' "${COMPREPLY[@]}"
"""


def _completed(script: Path, *words: str) -> list[str]:
    """Ask a real bash what it would offer for the last word."""
    done = subprocess.run(
        ["bash", "--norc", "-c", _ASK, "bash", script, "omnigraph", *words],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.usefixtures("processes")
def test_bash_completes_commands_options_and_choices(og: Og, folder: Path) -> None:
    """With what ``--show-completion`` prints."""
    script = folder / "completion"
    script.write_text(og("--show-completion", "bash").out)
    assert {each.split()[0] for each in _COMMANDS} <= set(_completed(script, ""))
    assert _completed(script, "me") == ["merge"]
    assert _completed(script, "branch", "cr") == ["create"]
    assert _completed(script, "cat", "node:Person", "--lim") == ["--limit"]
    assert set(_completed(script, "load", "--mode", "")) == {"append", "upsert", "overwrite"}
    assert set(_completed(script, "merge", "side", "--strategy", "o")) == {"ours"}
    for name in app:
        if not name.startswith("-"):
            assert name in _completed(script, name[:-1])


@pytest.mark.usefixtures("processes")
def test_completion_installs_itself(folder: Path) -> None:
    """For bash, in a home of its own; what is not our file stays as it is."""
    (folder / ".bashrc").write_text("mine\n")
    done = subprocess.run(
        [sys.executable, "-m", "omnigraph_l2", "--install-completion", "--shell", "bash"],
        env={"HOME": str(folder), "PATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (script,) = (each for each in folder.rglob("omnigraph") if each.is_file())
    assert str(script) in done.stdout
    assert _completed(script, "me") == ["merge"]
    assert (folder / ".bashrc").read_text().startswith("mine\n")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script(og: Og, shell: str) -> None:
    """It names each command."""
    script = og("--show-completion", shell).out
    assert all(each.split()[-1] in script for each in _COMMANDS)
