"""The demonstration works, again and again, and ends as README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DEMO = ROOT / "docs" / "examples" / "one_graph.py"
_ENDING = re.compile(r"dev\.py demo\n```.*?^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _promised() -> list[str]:
    found = _ENDING.search((ROOT / "README.md").read_text())
    assert found, "README does not say how the demonstration ends"
    return [line for line in found[1].splitlines() if not line.startswith("nox >")]


def test_it_ends_as_readme_says(tmp_path: Path) -> None:
    """Run twice in one place, it tells the same; what it leaves is a repository."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "error", str(DEMO)], cwd=tmp_path, capture_output=True,
            text=True, check=False, timeout=120,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        promised = _promised()
        assert done.stdout.splitlines()[-len(promised) :] == promised
    assert (tmp_path / "omnigraph-demo" / "graph" / "__manifest").is_dir()
