"""Docstrings, comments, messages and pages are in the imperative and in plain words."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from layout import ROOT

_OPENING = re.compile(r"(Give|Tell)s?\b")
"""How no docstring begins: it begins with Return, Raise, Check or another plain verb."""

_AVOIDED = re.compile(r"\b(told|tells?|nobody|somebody|whoever|anew|meanwhile)\b", re.IGNORECASE)

_LIMITS = {
    # docstrings that begin so, avoided words
    "packages/omnigraph-l1/src": (0, 0),
    "packages/omnigraph-l1/tests": (0, 143),
    "packages/omnigraph-l2/src": (0, 1),
    "packages/omnigraph-l2/tests": (50, 240),
    "packages/omnigraph-spark/src": (0, 1),
    "packages/omnigraph-spark/tests": (17, 67),
    "packages/omnigraph-testing/src": (0, 21),
    "packages/omnigraph-testing/tests": (2, 47),
    "campaign": (55, 62),
    "docs": (13, 248),
    ".": (0, 0),
}
"""How many are still below a folder. A number may only shrink."""


def _files(folder: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", folder],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    others = tuple(f"{other}/" for other in _LIMITS if other != folder)
    paths = [ROOT / line for line in listed if folder != "." or not line.startswith(others)]
    kinds = {".py", ".pyi", ".md"}
    return [path for path in paths if path.is_file() and path.suffix in kinds]


def _openings(path: Path) -> Iterator[str]:
    """Yield where a docstring begins with a word that none begins with."""
    if path.suffix == ".md":
        return
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, described) and _OPENING.match(ast.get_docstring(node) or ""):
            yield f"{path}:{getattr(node, 'lineno', 1)}"


def _avoided_words(path: Path) -> Iterator[str]:
    """Yield where a comment, a string or a page has one of them."""
    text = path.read_text(encoding="utf-8")
    parts = [(1, text)]
    if path.suffix != ".md":
        parts = [
            (token.start[0], token.string)
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type in {tokenize.COMMENT, tokenize.STRING}
            or tokenize.tok_name[token.type] == "FSTRING_MIDDLE"
        ]
    for start, part in parts:
        for line, words in enumerate(part.splitlines(), start):
            yield from (f"{path}:{line}: {word}" for word in _AVOIDED.findall(words))


@pytest.mark.parametrize("folder", _LIMITS)
def test_docstrings_begin_with_what_is_done(folder: str) -> None:
    """It is "Return the rows", not "Give the rows"; "Return whether", not "Tell whether"."""
    found = [where for path in _files(folder) for where in _openings(path)]
    assert len(found) <= _LIMITS[folder][0], "\n".join(found)


@pytest.mark.parametrize("folder", _LIMITS)
def test_plain_words_are_used(folder: str) -> None:
    """Some words make a sentence hard to read in a second language; another says the same."""
    found = [
        where for path in _files(folder) if path != Path(__file__) for where in _avoided_words(path)
    ]
    assert len(found) <= _LIMITS[folder][1], "\n".join(found)
