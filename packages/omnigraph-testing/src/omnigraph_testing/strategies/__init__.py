"""Hypothesis strategies: schemas, batches, names, histories. pyarrow comes with the first use."""

from omnigraph_testing.strategies._graph_names import branch_names, invalid_branch_names, type_names
from omnigraph_testing.strategies._property_values import ids, values
from omnigraph_testing.strategies._row_batches import batches, tables
from omnigraph_testing.strategies._serial_histories import histories
from omnigraph_testing.strategies._table_schemas import property_types, schemas

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
