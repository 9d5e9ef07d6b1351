"""A repository for each test of writing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph_l2 import Repository


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """Two people who know each other."""
    from spark_graph import made  # noqa: PLC0415 - found once the path is set

    with made(tmp_path / "repo") as repository:
        yield repository
