"""One Spark session and one cluster for the tests of a process; ``shared`` is for all folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import omnigraph_spark

sys.path.insert(0, str(Path(__file__).parent / "shared"))

QUIET = {
    "spark.ui.enabled": False,
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark with two cores, as ``omnigraph_spark.session`` makes it."""
    warehouse = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    made = omnigraph_spark.session("tests", "local[2]", {**QUIET, **warehouse})
    yield made
    made.stop()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The master of a standalone cluster with two workers."""
    # Only now are the modules of ``shared`` to be found.
    from standalone import standalone  # noqa: PLC0415

    with standalone(tmp_path_factory.mktemp("cluster")) as master:
        yield master
