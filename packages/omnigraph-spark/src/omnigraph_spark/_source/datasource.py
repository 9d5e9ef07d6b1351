"""The data source ``omnigraph``."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource

__all__ = ["OmniGraphDataSource"]


class OmniGraphDataSource(DataSource):
    """One table of a graph."""

    @classmethod
    def name(cls) -> str:
        """Give what stands in ``format(…)``."""
        return "omnigraph"
