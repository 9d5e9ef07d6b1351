"""Stores and refs in memory, wrapped."""

from __future__ import annotations

import pytest
from obstore.store import MemoryStore

from omnigraph_l1 import JsonRefs
from omnigraph_testing import FaultyRefs, FaultyStore


@pytest.fixture
def store() -> FaultyStore:
    """A store in memory with faults; its callers wait for ten seconds."""
    return FaultyStore(MemoryStore(), timeout=10)


@pytest.fixture
def refs() -> FaultyRefs:
    """Refs in memory with faults; their callers wait for ten seconds."""
    return FaultyRefs(JsonRefs.in_memory(), timeout=10)
