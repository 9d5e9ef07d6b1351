"""Refs in memory, wrapped."""

from __future__ import annotations

import pytest

from campaign.refs import FaultyRefs
from omnigraph_l1 import JsonRefs


@pytest.fixture
def refs() -> FaultyRefs:
    """Return refs in memory with faults; their callers wait for ten seconds."""
    return FaultyRefs(JsonRefs.in_memory(), timeout=10)
