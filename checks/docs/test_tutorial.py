"""The tutorial can be typed: its Python, and its commands for a shell on what that has made."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_shell_part_runs(tmp_path: Path) -> None:
    """Each command ends with 0, in the folder that the Python part leaves."""
    blocks = _BLOCK.findall((ROOT / "docs" / "tutorial.md").read_text())
    program = "\n".join(code for kind, code in blocks if kind == "python")
    lines = [line for kind, code in blocks if kind == "sh" for line in code.splitlines()]
    exports = [line.removeprefix("export ") for line in lines if line.startswith("export ")]
    commands = [line for line in lines if line.startswith("omnigraph ")]
    assert commands
    environment = {**os.environ, **dict(each.split("=", 1) for each in exports)}
    program_of_ours = str(Path(sys.executable).with_name("omnigraph"))
    for typed in (
        [sys.executable, "-c", program],
        *([program_of_ours, *shlex.split(command)[1:]] for command in commands),
    ):
        done = subprocess.run(
            typed, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
            timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{typed}\n{done.stdout}{done.stderr}"


def test_the_python_part_can_be_typed(tmp_path: Path) -> None:
    """Into an interpreter, which wants an empty line after indented ones; it says what is shown."""
    blocks = _BLOCK.findall((ROOT / "docs" / "tutorial.md").read_text())
    typed = "".join(f"{code}\n" for kind, code in blocks if kind == "python")
    done = subprocess.run(
        [sys.executable, "-i", "-q"], input=typed, cwd=tmp_path, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert "Error" not in done.stderr, done.stderr
    said = " ".join(done.stdout.split())
    for shown in (text for kind, text in blocks if kind == "text"):
        assert " ".join(shown.split()) in said
