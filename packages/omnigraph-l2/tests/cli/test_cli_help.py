"""Help and completion: there at once, without noise, and right in a real shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli_run import RunCommand

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
        "import sys; from importlib.metadata import entry_points\n"
        "(program,) = entry_points(group='console_scripts', name='omnigraph')\n"
        "main = program.load()\n"
        "def run(*arguments): sys.argv[1:] = arguments; return main()\n"
        "assert run('--help') == run('cat', '--help') == run('lod') - 2 == 0\n"
        "heavy = {'lance', 'pyarrow', 'numpy', 'structlog', 'obstore'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_has_no_noise(og: RunCommand) -> None:
    """No default that says nothing; what holds for all commands stands in one place."""
    assert "Exit status" in " ".join(og("--help").out.split())
    for command in (*_COMMANDS, "branch", "runs", "tag"):
        shown = og(*command.split(), "--help").out
        assert "[default: False]" not in shown
        assert "[default: True]" not in shown
        assert "[default: ()]" not in shown
        assert "Exit status" not in " ".join(shown.split())
    assert "[default: main]" in og("cat", "--help").out


_COMPLETE = """
. "$1"; shift
function=$(complete -p omnigraph | sed 's/.*-F \\([^ ]*\\).*/\\1/')
for line in "$@"; do
  COMP_WORDS=(omnigraph ${line%_})
  [ "$line" = "${line%_}" ] || COMP_WORDS+=("")  # _ stands for an empty word
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  $function
  echo "${COMPREPLY[@]}"
done
"""


def _complete(script: Path, *lines: str) -> list[set[str]]:
    """Return what a real bash offers for the last word of each line."""
    done = subprocess.run(
        ["bash", "--norc", "-c", _COMPLETE, "bash", script, *lines],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [set(line.split()) for line in done.stdout.splitlines()]


@pytest.mark.usefixtures("processes")
def test_bash_completes_commands_options_and_choices(og: RunCommand, folder: Path) -> None:
    """With what ``--show-completion`` prints."""
    script = folder / "completion"
    script.write_text(og("--show-completion", "bash").out)
    names = {each.split()[0] for each in _COMMANDS}
    expected = {
        "_": names,
        "me": {"merge"},
        "branch cr": {"create"},
        "cat node:Person --lim": {"--limit"},
        "load --mode _": {"append", "upsert", "overwrite"},
        "merge side --strategy o": {"ours"},
        **{name[:-1]: {name} for name in names},
    }
    for line, wanted, offered in zip(
        expected, expected.values(), _complete(script, *expected), strict=True
    ):
        assert wanted <= offered, line
        assert offered <= names or wanted == offered, line


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
    assert _complete(script, "me") == [{"merge"}]
    assert (folder / ".bashrc").read_text().startswith("mine\n")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script(og: RunCommand, shell: str) -> None:
    """It names each command."""
    script = og("--show-completion", shell).out
    assert all(each.split()[-1] in script for each in _COMMANDS)
