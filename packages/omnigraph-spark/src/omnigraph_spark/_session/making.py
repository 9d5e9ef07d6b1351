"""A session with what is needed, and the data source in a session of somebody else.

Always: what the caller configured wins over what is set here. What is missing is told before
Spark starts.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from omnigraph_spark._session.given import check_session
from omnigraph_spark._session.interpreter import check_interpreter, chosen_interpreter
from omnigraph_spark._session.java import check_java
from omnigraph_spark._session.sockets import local_sockets
from omnigraph_spark._source.datasource import OmniGraphDataSource

__all__ = ["register", "session"]

_WANTED = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    # Without it, Spark reads times of day and does not write them.
    "spark.sql.timeType.enabled": "true",
    # With a bound of bytes, Spark adds up the whole batch again at each row that it hands to
    # Python, which takes it longer than all the rest. Few rows at once are a bound as well.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2048",
}


def session(
    app_name: str = "omnigraph",
    master: str | None = None,
    config: Mapping[str, Any] | None = None,
) -> SparkSession:
    """Give a Spark session that can read and write graphs.

    ``master`` is what Spark takes: ``local[2]``, ``spark://…``; ``sc://…`` is a Spark Connect
    server. ``config`` wins over everything that is set here. Where this process has a session
    already, Spark gives that one, with these settings as far as they can be changed.
    """
    given = {key: _text(value) for key, value in (config or {}).items()}
    remote = given.get("spark.remote") or (master if master and master.startswith("sc://") else "")
    wanted = dict(_WANTED)
    if not remote:
        check_java(os.environ)
        at = master or given.get("spark.master") or "local[*]"
        _prepare_workers(given, at)
        if at.startswith("local"):
            wanted |= local_sockets(given)
    builder = SparkSession.builder.appName(app_name)
    if remote:
        builder = builder.remote(given.pop("spark.remote", remote))
    elif master is not None:
        builder = builder.master(master)
    for key, value in {**wanted, **given}.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        # Lance warns of forks, and Spark's launcher forks to start Java and nothing else.
        warnings.filterwarnings("ignore", message="lance is not fork-safe")
        made = builder.getOrCreate()
    register(made)
    return made


def register(spark: SparkSession) -> None:
    """Make the format ``omnigraph`` known to a session, whoever made it."""
    check_session(spark)
    spark.dataSource.register(OmniGraphDataSource)


def _prepare_workers(config: Mapping[str, str], master: str) -> None:
    chosen = chosen_interpreter(config, os.environ)
    if chosen is None:
        # Spark's own default is whatever "python3" is on the path of a worker.
        os.environ["PYSPARK_PYTHON"] = sys.executable
    elif master.startswith("local"):
        check_interpreter(*chosen)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
