"""Fixtures, and a failure that names the fact which changed, and in which versions."""

from __future__ import annotations

import inspect
from collections.abc import Generator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset

from ._support import KEYED, append, create


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Put the fact, which is the test's docstring, beside the failure."""
    report = yield
    if report.failed:
        fact = inspect.cleandoc(getattr(getattr(item, "obj", None), "__doc__", None) or item.name)
        where = f"pylance {lance.__version__}, pyarrow {pa.__version__}"
        report.sections.append((f"a fact of SUBSTRATE.md changed ({where})", fact))
    return report


@pytest.fixture
def table(tmp_path: Path) -> LanceDataset:
    """Version 1 with rows a and b, on the local disk."""
    return create(tmp_path / "t", "a", "b")


@pytest.fixture
def two(table: LanceDataset) -> LanceDataset:
    """Version 2: the rows a and b in one fragment, c in another."""
    return append(table, "c")


@pytest.fixture
def keyed(tmp_path: Path) -> LanceDataset:
    """Version 1 with rows a and b, its id annotated as the primary key."""
    return create(tmp_path / "keyed", "a", "b", schema=KEYED)
