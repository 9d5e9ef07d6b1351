"""Roots on local disk for tables that are compared."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lineages import RepositoryRoot, new_root


@pytest.fixture
def root(tmp_path: Path) -> RepositoryRoot:
    """Return an empty root."""
    return new_root(tmp_path / "root")
