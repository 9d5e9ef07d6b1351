"""Stores and refs in memory, wrapped."""

from __future__ import annotations

import pytest
from obstore.store import MemoryStore

from omnigraph_testing import FaultyStore


@pytest.fixture
def store() -> FaultyStore:
    """A store in memory with faults; its callers wait for ten seconds."""
    return FaultyStore(MemoryStore(), timeout=10)
