"""The page for users is what the data say."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

from omnigraph_l1 import TransactionKind, conflict

from . import matrix_page
from .matrix_page import DEVIATIONS, OBSERVED_WITH

PAGE = Path(__file__).resolve().parents[4] / "docs" / "lance-transactions.md"


def _lines(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, without its head."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}", 1)[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    return rows[2:]


def test_the_page_is_the_one_that_is_generated() -> None:
    """docs/lance-transactions.md is exactly what the module prints."""
    run = (sys.executable, "-W", "error", "-X", "utf8", matrix_page.__file__)
    printed = subprocess.run(run, capture_output=True, check=True).stdout
    assert printed.decode() == PAGE.read_text(encoding="utf-8")


def test_the_page_covers_every_pair() -> None:
    """A letter for each: that of the outcome when nothing is known."""
    grid = _lines("All pairs")
    kinds = list(TransactionKind)
    assert [line[0].split(" ", 1)[1] for line in grid] == [kind.value for kind in kinds]
    letters = {"compatible": "·", "rebasable": "b", "retryable": "r", "incompatible": "X"}
    for (row, ours), (column, theirs) in product(enumerate(kinds), enumerate(kinds, start=1)):
        assert grid[row][column].rstrip("?") == letters[conflict(ours, theirs).value]


def test_a_question_mark_says_that_it_depends() -> None:
    """Delete over Overwrite is always refused, Delete over Delete only for the same rows."""
    delete = next(line for line in _lines("All pairs") if line[0].endswith(" Delete"))
    assert delete[1:4] == ["·", "r?", "X"]


def test_the_page_has_every_deviation() -> None:
    """One line each, under the version of pylance that was looked at."""
    assert len(_lines(f"What pylance {OBSERVED_WITH} does otherwise")) == len(DEVIATIONS)
