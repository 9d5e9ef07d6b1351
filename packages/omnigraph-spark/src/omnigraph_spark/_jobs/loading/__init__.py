"""``load``: files become the rows of a graph's tables, by a mapping."""

from omnigraph_spark._jobs.loading.job import load
from omnigraph_spark._jobs.loading.report import LoadedTable, LoadReport

__all__ = ["LoadReport", "LoadedTable", "load"]
