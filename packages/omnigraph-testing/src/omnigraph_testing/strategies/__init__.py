"""Hypothesis strategies: schemas, batches, names, histories. pyarrow comes with the first use."""

from omnigraph_testing.strategies._batches import batches, tables
from omnigraph_testing.strategies._histories import histories
from omnigraph_testing.strategies._names import branch_names, invalid_branch_names, type_names
from omnigraph_testing.strategies._schemas import property_types, schemas
from omnigraph_testing.strategies._values import ids, values

__all__ = [
    "batches",
    "branch_names",
    "histories",
    "ids",
    "invalid_branch_names",
    "property_types",
    "schemas",
    "tables",
    "type_names",
    "values",
]
