"""Notebooks are true: their cells run in order, in a fresh process, and hold no outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
NOTEBOOKS = sorted(ROOT.glob("docs/**/*.ipynb"))
each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


def _cells(notebook: Path) -> list[dict[str, Any]]:
    found = json.loads(notebook.read_text())
    assert (found["nbformat"], found["metadata"]["kernelspec"]["language"]) == (4, "python")
    return [cell for cell in found["cells"] if cell["cell_type"] == "code"]


def test_there_are_some() -> None:
    """Else nothing here would be looked at."""
    assert NOTEBOOKS


@each_notebook
def test_it_was_saved_without_outputs(notebook: Path) -> None:
    """Outputs grow old, and show the machine that they were made on."""
    for cell in _cells(notebook):
        assert (cell["outputs"], cell["execution_count"]) == ([], None), "".join(cell["source"])


@each_notebook
def test_its_cells_run(notebook: Path, tmp_path: Path) -> None:
    """One after the other, as "run all" does, in plain Python; what a cell shows can be shown."""
    shown = "; import sys; show = lambda value: sys.stdout.write(repr(value) + '\\n')"
    lines = [f"import ast{shown}", "names = {'__name__': '__main__'}"]
    for number, cell in enumerate(_cells(notebook), 1):
        lines.append(f"cell, name = {''.join(cell['source'])!r}, 'cell {number}'")
        lines.append("body = ast.parse(cell, name).body")
        lines.append("last = body.pop() if isinstance(body[-1], ast.Expr) else None")
        lines.append("exec(compile(ast.Module(body, []), name, 'exec'), names)")
        lines.append(
            "last and show(eval(compile(ast.Expression(last.value), name, 'eval'), names))"
        )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(lines)], cwd=tmp_path, text=True,
        capture_output=True, check=False, timeout=300,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
