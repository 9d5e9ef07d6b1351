"""A session has what is needed, and what is missing is told before Spark starts."""

from __future__ import annotations

import gc
import stat
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from spark_graph import PERSON, made

import omnigraph_spark
from omnigraph_spark import jobs
from omnigraph_spark._session import unix_sockets as sockets
from omnigraph_spark._write.driver_frames import map_batches
from omnigraph_spark._write.executor_tasks import FragmentScan
from omnigraph_spark.errors import InterpreterMismatch, JavaUnusable, NotASession


def program(location: Path, script: str) -> Path:
    """Make a program out of a shell script."""
    location.parent.mkdir(parents=True, exist_ok=True)
    location.write_text(f"#!/bin/sh\n{script}\n")
    location.chmod(0o755)
    return location


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ('openjdk version "17.0.15" 2025-04-15', None),
        ('openjdk version "21" 2023-09-19', None),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25-ea" 2025-09-16', None),
        ('java version "1.8.0_292"', "found Java 8"),
        ('openjdk version "11.0.2"', "found Java 11"),
        ("sh: not found", "does not print its version"),
    ],
)
def test_the_version_of_java(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    told: str,
    found: str | None,
) -> None:
    """It is read from what Java says of itself; one that is new enough is no problem."""
    program(tmp_path / "bin" / "java", f"echo '{told}' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with nullcontext() if found is None else pytest.raises(JavaUnusable, match=found):
        assert omnigraph_spark.session() is spark  # which runs already


def test_java_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None, or one that fails: each is told with what to do, and not by Spark's launcher."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaUnusable, match="none on the path") as told:
        omnigraph_spark.session()
    assert "apt-get install openjdk-17" in str(told.value)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaUnusable, match="JAVA_HOME"):
        omnigraph_spark.session()
    java = program(tmp_path / "bin" / "java", "exit 3")
    with pytest.raises(JavaUnusable, match="does not print its version"):
        omnigraph_spark.session()
    java.write_bytes(b"\x7fELF nothing that runs")
    with pytest.raises(JavaUnusable, match=r"does not (run|print)"):
        omnigraph_spark.session()


def test_an_interpreter_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not there, another version, no Python at all: told with who asked for it."""
    other = program(tmp_path / "python", "echo 2.7")
    config = {"spark.pyspark.python": str(other)}
    with pytest.raises(InterpreterMismatch, match=r"Python 2\.7") as told:
        omnigraph_spark.session(master="local[1]", config=config)
    assert told.value.setting == "spark.pyspark.python"
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python")
    with pytest.raises(InterpreterMismatch, match="not there") as told:
        omnigraph_spark.session(master="local[1]")
    assert told.value.setting == "PYSPARK_PYTHON"
    monkeypatch.setenv("PYSPARK_PYTHON", str(program(tmp_path / "no", "exit 1")))
    with pytest.raises(InterpreterMismatch, match="no Python"):
        omnigraph_spark.session(master="local[1]")


def test_only_a_session_is_a_session() -> None:
    """Anything else is a typed error, wherever it is given."""
    for wrong in (None, "spark", SparkSession):
        given: Any = wrong
        for use in (
            omnigraph_spark.register,
            lambda given: omnigraph_spark.read_graph(given, "x"),
            lambda given: omnigraph_spark.transaction(given, "x"),
            lambda given: jobs.verify(given, "x"),
            lambda given: jobs.optimize(given, "x"),
            lambda given: jobs.diff(given, "x", 1, 2),
            lambda given: jobs.export(given, "x", "y"),
        ):
            with pytest.raises(NotASession):
                use(given)


def test_what_a_session_has(spark: SparkSession) -> None:
    """Arrow, pushdown and times of day are on, batches are bounded, workers run this Python."""
    assert spark.conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true"
    assert spark.conf.get("spark.sql.python.filterPushdown.enabled") == "true"
    assert spark.conf.get("spark.sql.timeType.enabled") == "true"
    assert spark.conf.get("spark.sql.execution.arrow.maxBytesPerBatch") == "2147483647"
    assert spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == "2048"
    ran = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()
    assert ran == [sys.executable]


def test_processes_of_one_machine_talk_where_nobody_else_can(spark: SparkSession) -> None:
    """Spark asks for no secret there: the folder is for this user only, and holds the sockets."""
    assert spark.sparkContext.parallelize([0], 1).map(lambda each: each).collect() == [0]
    folder = Path(spark.conf.get("spark.python.unix.domain.socket.dir") or "")
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IRWXU
    assert [each for each in folder.iterdir() if each.is_socket()]


def test_who_says_how_processes_talk_is_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is set beside what the caller sets, or where a socket's name would be too long."""
    assert not sockets.socket_settings({"spark.python.unix.domain.socket.enabled": "false"})
    assert not sockets.socket_settings({"spark.python.unix.domain.socket.dir": "/somewhere"})
    long = tmp_path / ("long" * 20)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    sockets._make_folder.cache_clear()
    assert not sockets.socket_settings({})
    sockets._make_folder.cache_clear()


def test_only_workers_of_spark_are_settled(spark: SparkSession, tmp_path: Path) -> None:
    """What a worker has imported is not looked through again after each of its turns."""
    with made(tmp_path / "repo") as repo:
        target = repo.snapshot().share(PERSON)
        uri = repo.uri

    def frozen(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read = FragmentScan(target, ("id",), ((0,),))
        rows = sum(map(len, read([pa.record_batch([pa.array([0])], names=["id"])])))
        yield pa.record_batch({"rows": [rows], "n": [gc.get_freeze_count()]})

    told = map_batches(spark.range(1), frozen, "rows long, n long").first()
    assert told is not None
    assert told.rows == 2
    assert told.n > 10_000
    frame = spark.read.format("omnigraph").option("table", PERSON).load(uri)
    assert frame.count() == 2
    assert gc.get_freeze_count() == 0
