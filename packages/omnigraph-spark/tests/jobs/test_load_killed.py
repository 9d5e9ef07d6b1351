"""A driver that dies in a load: the same load again does it once, or finds it done."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from loadjob import run
from pyspark.sql import SparkSession

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_spark.jobs import load
from omnigraph_testing import AtPoint, Crash

pytestmark = [pytest.mark.spark, pytest.mark.integration]

_ALL = ["l2.table.committed", "l2.publish.planned", "l2.publish.visible"]
_POINTS = _ALL if os.environ.get("OMNIGRAPH_FULL_SIZE") else _ALL[-1:]
_MAPPING = """
max_rejects = 2
[[tables]]
table = "node:Package"
files = "p.csv"
[[tables]]
table = "node:Other"
files = "p.csv"
"""


@pytest.mark.parametrize("point", _POINTS)
def test_again_after_the_driver_died(
    spark: SparkSession, crash: Crash, tmp_path: Path, point: str
) -> None:
    """All rows are there once; nothing of the dead run's rejects is mixed with those of another."""
    (tmp_path / "p.csv").write_text("id,n\na,1\nb,2\nc,x\n")
    mapping = tmp_path / "map.toml"
    mapping.write_text(_MAPPING)
    types = [NodeType(name, {"n": pa.int32()}) for name in ("Package", "Other")]
    aside = tmp_path / "aside"
    with Repository.init(tmp_path / "repo", GraphSchema(nodes=types)) as repo:
        given = (repo.uri, str(mapping), str(aside), "once")
        died = crash.run(run, *given, kill=AtPoint(point), deadline=300.0)
        assert died.killed
        happened = repo.snapshot().tables["node:Other"].row_count == 2
        assert happened == (point == _ALL[-1])
        commits = len(repo.log())

        report = load(spark, repo.uri, mapping, rejects=str(aside), operation_hash="once")
        assert report.repeated == happened
        assert len(repo.log()) == commits + (not happened)
        assert report.commit_id == repo.log(limit=1)[0].graph_commit_id
        assert len(list(aside.iterdir())) == 1 + (not happened)
        for each in types:
            ids = repo.snapshot().read(each.table_key)["id"].to_pylist()
            assert sorted(ids) == ["a", "b"]
