"""A load that ends without a reply: the same load again does it once, or finds it done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from loadjob import run
from pyspark.sql import SparkSession

from omnigraph_l1.failpoints import handling
from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2.errors import CommitOutcomeUnknown
from omnigraph_spark.jobs import load
from omnigraph_testing import AtPoint, Crash

pytestmark = pytest.mark.spark

_PLANNED, _VISIBLE = "l2.publish.planned", "l2.publish.visible"
_MAPPING = """
max_rejects = 2
[[tables]]
table = "node:Package"
files = "p.csv"
[[tables]]
table = "node:Other"
files = "p.csv"
"""


@pytest.mark.parametrize("point", [_PLANNED, _VISIBLE])
def test_again_after_a_lost_reply(spark: SparkSession, tmp_path: Path, point: str) -> None:
    """Whether it was published or not when the reply was lost."""

    def fail(uri: str, mapping: str, rejects: str, name: str) -> None:
        def lose(reached: str) -> None:
            if reached == point:
                raise CommitOutcomeUnknown(location="x", commit_id="y", detail="the reply was lost")

        with handling(lose), pytest.raises(CommitOutcomeUnknown):
            load(spark, uri, mapping, rejects=rejects, operation_hash=name)

    _load_twice(spark, tmp_path, fail, published=point == _VISIBLE)


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("point", ["l2.table.committed", _PLANNED, _VISIBLE])
def test_again_after_the_driver_died(
    spark: SparkSession, omnigraph_crash: Crash, tmp_path: Path, point: str
) -> None:
    """Where the driver was a process of its own, and was killed."""

    def fail(*given: str) -> None:
        assert omnigraph_crash.run(run, *given, kill=AtPoint(point), deadline=300.0).killed

    _load_twice(spark, tmp_path, fail, published=point == _VISIBLE)


def _load_twice(
    spark: SparkSession,
    location: Path,
    fail: Callable[[str, str, str, str], None],
    *,
    published: bool,
) -> None:
    """Check that all rows are there once, and that the rejects of both runs are not mixed."""
    (location / "p.csv").write_text("id,n\na,1\nb,2\nc,x\n")
    mapping, aside = location / "map.toml", location / "aside"
    mapping.write_text(_MAPPING)
    types = [NodeType(name, {"n": pa.int32()}) for name in ("Package", "Other")]
    with Repository.init(location / "repo", GraphSchema(nodes=types)) as repo:
        fail(repo.uri, str(mapping), str(aside), "once")
        assert (repo.snapshot().tables["node:Other"].row_count == 2) == published
        commits = len(repo.log())

        report = load(spark, repo.uri, mapping, rejects=str(aside), operation_hash="once")
        assert report.repeated == published
        assert len(repo.log()) == commits + (not published)
        assert report.commit_id == repo.log(limit=1)[0].graph_commit_id
        assert len(list(aside.iterdir())) == 1 + (not published)
        for each in types:
            ids = repo.snapshot().read(each.table_key)["id"].to_pylist()
            assert sorted(ids) == ["a", "b"]
