"""Transactional graph storage on open files. The catalog comes with the next release."""

from omnigraph_l2.errors import OmniGraphError

__all__ = ["OmniGraphError"]
