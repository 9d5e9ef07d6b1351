"""A small repository for each test, and what other processes do to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[object]:
    """A repository with two people who know each other."""
    from tx_support import made  # noqa: PLC0415 - found once the path is set

    with made(tmp_path / "repo") as repository:
        yield repository
