"""The formats of files that jobs write."""

from __future__ import annotations

from typing import Final

__all__ = ["DIFF_FORMATS", "FORMATS"]

FORMATS: Final = {"parquet": "parquet", "csv": "csv", "ndjson": "json"}
"""Each format with the name that Spark has for it."""
DIFF_FORMATS: Final = ("parquet", "ndjson")
"""Those that can hold the rows of a diff, which are nested."""
