"""The documents are true: their code runs, and their links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from command_line import REFERENCE, reference

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "packages/*/README.md")
    for path in ROOT.glob(pattern)
)
_BLOCK = re.compile(r"^```python( no-run)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMANDS = re.compile(r"^```bash run\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def _named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS, ids=_named)
def test_links_lead_somewhere(document: Path) -> None:
    """Each link to a file or a heading of ours is good."""
    text = document.read_text()
    for link in _LINK.findall(text):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        assert target.exists(), link
        if anchor:
            anchors = {_anchor(heading) for heading in _HEADING.findall(target.read_text())}
            assert anchor in anchors, link


def _needing() -> list[ParameterSet]:
    """Mark what needs Spark: it has a session of its own."""
    return [pytest.param(doc, marks=_marks(doc.read_text()), id=_named(doc)) for doc in DOCUMENTS]


def _marks(text: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.spark] if "import omnigraph_spark" in text else []


@pytest.mark.parametrize("document", _needing())
def test_code_runs(document: Path, tmp_path: Path) -> None:
    """The Python in a document runs as it stands: tests by pytest, the rest as one program."""
    blocks = [code for skipped, code in _BLOCK.findall(document.read_text()) if not skipped]
    program = "\n".join(code for code in blocks if "def test_" not in code)
    if program:
        _run(tmp_path, "program.py", program, [])
    tests = "\n\n".join(code for code in blocks if "def test_" in code)
    if tests:
        _run(tmp_path, "test_document.py", tests, ["-m", "pytest", "-q", "-p", "no:cacheprovider"])


@pytest.mark.parametrize(
    "document", [each for each in DOCUMENTS if _COMMANDS.search(each.read_text())], ids=_named
)
def test_commands_run(document: Path, tmp_path: Path) -> None:
    """The blocks of a document that say ``bash run`` run in order, in one folder and one shell."""
    script = "\n".join(_COMMANDS.findall(document.read_text()))
    programs = Path(sys.executable).parent
    done = subprocess.run(
        ["/bin/bash", "-e", "-o", "pipefail", "-c", script], cwd=tmp_path, capture_output=True,
        text=True, check=False, timeout=600,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reference_of_commands_is_what_the_program_says() -> None:
    """Where it is not, ``python checks/command_line.py`` writes it."""
    assert REFERENCE.read_text() == reference()


def _run(folder: Path, name: str, code: str, runner: list[str]) -> None:
    (folder / name).write_text(code)
    if not (folder / "docs").exists():
        (folder / "docs").symlink_to(ROOT / "docs")  # as in a checkout
    done = subprocess.run(
        [sys.executable, "-W", "error", *runner, name], cwd=folder, capture_output=True, text=True,
        check=False, timeout=570, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
