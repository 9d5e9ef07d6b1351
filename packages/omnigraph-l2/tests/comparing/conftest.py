"""Roots on local disk for tables that are compared."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from omnigraph_l1 import Durability, Storage
from omnigraph_l2._storage import Root


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Give an empty root."""
    return Root(Storage.resolve(tmp_path / "root", None), Durability.NONE)
