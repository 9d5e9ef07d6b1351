"""Rules of the house that a linter does not know."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from layout import PACKAGES, ROOT, modules_of

_LONGEST = 600
_FACADES = frozenset({"packages/omnigraph-l2/src/omnigraph_l2/_api/repository.py"})
"""Modules that may be longer: the classes that users work with, whose methods only delegate."""

_MOST_IN_A_FOLDER = 20
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


def test_no_module_is_too_long() -> None:
    """None is longer than 600 lines, tests included, except the facades."""
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines())
        for path in _tracked()
        if path.suffix == ".py"
    }
    assert set(lengths) >= _FACADES, "a facade that is gone is still listed"
    assert {path: n for path, n in lengths.items() if n > _LONGEST and path not in _FACADES} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_is_too_full(package: str) -> None:
    """A reader sees all of a folder: at most 20 modules are directly in it."""
    inside = Counter(path.parent for path in modules_of(package) if path.stem != "__init__")
    assert {folder: n for folder, n in inside.items() if n > _MOST_IN_A_FOLDER} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_front_doors_only_re_export(package: str) -> None:
    """``__init__`` holds imports and ``__all__``; it may import late, or refuse a platform."""
    plain = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
    for path in modules_of(package):
        if path.name != "__init__.py":
            continue
        for node in ast.parse(path.read_text()).body:
            for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            late = isinstance(node, ast.FunctionDef) and node.name in {"__getattr__", "__dir__"}
            refuses = isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise)
            assert isinstance(node, plain) or for_types or late or refuses, f"{path}:{node.lineno}"


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
