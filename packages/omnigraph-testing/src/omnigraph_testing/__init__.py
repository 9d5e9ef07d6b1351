"""Faults on demand: stores that fail, processes that die, histories that must have an order."""

from omnigraph_testing.errors import OmniGraphTestingError

__all__ = ["OmniGraphTestingError"]
