"""Settings of the one session that a test changes for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest
from pyspark.sql import SparkSession


@pytest.fixture
def confs(spark: SparkSession) -> Iterator[Callable[[Mapping[str, str]], None]]:
    """Set settings of Spark, which have their earlier values again after the test."""
    before: dict[str, str | None] = {}

    def set_all(wanted: Mapping[str, str]) -> None:
        for name, value in wanted.items():
            before.setdefault(name, spark.conf.get(name))
            spark.conf.set(name, value)

    yield set_all
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)
