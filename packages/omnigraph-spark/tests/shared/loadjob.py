"""A load in a process of its own, to be killed."""

from __future__ import annotations

import omnigraph_spark
from omnigraph_spark.jobs import load

__all__ = ["run"]


def run(uri: str, mapping: str, rejects: str, name: str) -> str | None:
    """Load, and give the commit."""
    config = {"spark.ui.enabled": False}
    spark = omnigraph_spark.session("load", "local[2]", config)
    try:
        return load(spark, uri, mapping, rejects=rejects, operation_hash=name).commit_id
    finally:
        spark.stop()
