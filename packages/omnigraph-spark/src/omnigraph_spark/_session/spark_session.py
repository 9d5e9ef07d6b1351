"""Create a Spark session, and register the data source in an existing one.

Invariant: the caller's configuration takes precedence. Missing requirements are reported before
Spark starts.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from omnigraph_spark._data_source import OmniGraphDataSource
from omnigraph_spark._options.argument_checks import check_session
from omnigraph_spark._session.java_version import check_java
from omnigraph_spark._session.unix_sockets import socket_settings
from omnigraph_spark._session.worker_python import check_interpreter, find_interpreter_setting

__all__ = ["register", "session"]

_WANTED = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    # Without it Spark reads times of day but does not write them.
    "spark.sql.timeType.enabled": "true",
    # With a limit in bytes Spark adds up the batch again for each row that it sends to Python,
    # which takes longer than all the rest. A small number of rows limits batches as well.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2048",
}


def session(
    app_name: str = "omnigraph",
    master: str | None = None,
    config: Mapping[str, Any] | None = None,
) -> SparkSession:
    """Return a Spark session that can read and write repositories.

    ``master`` is a master URL of Spark: ``local[2]``, ``spark://…``; ``sc://…`` is a Spark Connect
    server. ``config`` takes precedence over all settings made here. If this process has a session
    already, Spark returns it with those settings that can still be changed.
    """
    settings = {key: _text(value) for key, value in (config or {}).items()}
    remote = settings.get("spark.remote") or (
        master if master and master.startswith("sc://") else ""
    )
    wanted = dict(_WANTED)
    if not remote:
        check_java(os.environ)
        at = master or settings.get("spark.master") or "local[*]"
        _prepare_workers(settings, at)
        if at.startswith("local"):
            wanted |= socket_settings(settings)
    builder = SparkSession.builder.appName(app_name)
    if remote:
        builder = builder.remote(settings.pop("spark.remote", remote))
    elif master is not None:
        builder = builder.master(master)
    for key, value in {**wanted, **settings}.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        # Lance warns about forks; Spark's launcher forks only to start Java.
        warnings.filterwarnings("ignore", message="lance is not fork-safe")
        made = builder.getOrCreate()
    register(made)
    return made


def register(spark: SparkSession) -> None:
    """Register the format ``omnigraph`` in an existing session."""
    check_session(spark)
    spark.dataSource.register(OmniGraphDataSource)


def _prepare_workers(config: Mapping[str, str], master: str) -> None:
    chosen = find_interpreter_setting(config, os.environ)
    if chosen is None:
        # Spark's default is the first "python3" on the path of a worker.
        os.environ["PYSPARK_PYTHON"] = sys.executable
    elif master.startswith("local"):
        check_interpreter(*chosen)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
