"""Rules of the house that a linter does not know."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest
from layout import PACKAGES, ROOT, modules_of

_LONGEST, _MOST_ARE_UNDER = 400, 250
_MACHINE_PATH = re.compile(r"(?<![\w./…-])/(work|root|home/\w+|farm)/\w")
_DOWNLOAD = re.compile(r"https?://\S+\.(whl|tar\.gz|jar)\b")
_TEXT = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".cfg", ".c", ".sh", ""}


def _tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = (ROOT / line for line in listed.stdout.splitlines())
    return [path for path in paths if path.is_file() and path.suffix in _TEXT]


@pytest.mark.parametrize("package", PACKAGES)
def test_each_module_says_what_it_is_about(package: str) -> None:
    """A module opens with a docstring."""
    for path in modules_of(package):
        assert ast.get_docstring(ast.parse(path.read_text())), path


def test_modules_are_small() -> None:
    """None is longer than 400 lines, tests included; four of five of the product are under 250."""
    lengths = {
        path: len(path.read_text().splitlines()) for path in _tracked() if path.suffix == ".py"
    }
    assert {path: n for path, n in lengths.items() if n > _LONGEST} == {}
    ours = [lengths[path] for package in PACKAGES for path in modules_of(package)]
    assert sum(n < _MOST_ARE_UNDER for n in ours) >= 0.8 * len(ours)


@pytest.mark.parametrize("package", PACKAGES)
def test_front_doors_only_re_export(package: str) -> None:
    """``__init__`` of a package holds imports and ``__all__``; at most it imports late."""
    plain = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
    for path in modules_of(package):
        if path.name != "__init__.py":
            continue
        for node in ast.parse(path.read_text()).body:
            for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            late = isinstance(node, ast.FunctionDef) and node.name in {"__getattr__", "__dir__"}
            assert isinstance(node, plain) or for_types or late, f"{path}:{node.lineno}"


def test_no_test_sleeps_to_wait() -> None:
    """A test that sleeps is slow when it works and wrong when it does not.

    Helpers may look again and again until a deadline, and victims wait to be killed.
    """
    for path in ROOT.glob("packages/*/tests/**/*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
                calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
                sleeps = [node.lineno for node in calls if ast.unparse(node.func).endswith("sleep")]
                assert not sleeps, f"{path}:{sleeps}"


def test_nothing_names_this_machine_or_a_download() -> None:
    """What is committed works elsewhere: no paths of a machine, no addresses of packages."""
    for path in _tracked():
        text = path.read_text(errors="ignore")
        if path == Path(__file__):
            continue
        assert not _MACHINE_PATH.search(text), path
        assert not _DOWNLOAD.search(text), path


def test_every_package_has_what_a_wheel_shows() -> None:
    """README, licence and typing marker are there, and the licences are one text."""
    licence = (ROOT / "LICENSE").read_text()
    for package in PACKAGES:
        folder = ROOT / "packages" / package.replace("_", "-")
        assert (folder / "LICENSE").read_text() == licence
        assert (folder / "README.md").read_text().strip()
        assert (folder / "src" / package / "py.typed").exists()
