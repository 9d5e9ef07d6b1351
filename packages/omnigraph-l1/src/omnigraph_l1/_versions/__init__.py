"""Versions that a version store decides, where a store has no conditional writes: front door."""

from omnigraph_l1._versions.guarding import MARK, check_version_store, claimed
from omnigraph_l1._versions.namespaces import (
    forget,
    forget_branch,
    is_first_of,
    lance_arguments,
)

__all__ = [
    "MARK",
    "check_version_store",
    "claimed",
    "forget",
    "forget_branch",
    "is_first_of",
    "lance_arguments",
]
