"""One Lance dataset at a time, done right."""

from omnigraph_l1._resolution import Resolution
from omnigraph_l1._ulid import new_ulid
from omnigraph_l1.errors import L1Error

__all__ = ["L1Error", "Resolution", "new_ulid"]
