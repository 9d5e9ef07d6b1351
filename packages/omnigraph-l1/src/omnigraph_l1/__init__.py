"""One Lance dataset at a time, done right."""

from omnigraph_l1._names import fnv1a64, table_path, type_hash
from omnigraph_l1._places import Place, Storage
from omnigraph_l1._resolution import Resolution
from omnigraph_l1._ulid import new_ulid
from omnigraph_l1.errors import L1Error

__all__ = [
    "L1Error",
    "Place",
    "Resolution",
    "Storage",
    "fnv1a64",
    "new_ulid",
    "table_path",
    "type_hash",
]
