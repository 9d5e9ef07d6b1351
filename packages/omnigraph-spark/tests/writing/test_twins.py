"""Tasks that run twice at once, as Spark's speculation has it: each row is there once."""

from __future__ import annotations

from pathlib import Path

import pytest
from spark_graph import CITY, ids, made
from standalone import submitted

pytestmark = pytest.mark.spark

PROGRAM = Path(__file__).parent.parent / "shared" / "twinsjob.py"
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.01",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10",
}


def test_each_row_once(cluster: str, tmp_path: Path) -> None:
    """Both attempts write, and one of them counts; what the other one left is in no table."""
    marks = tmp_path / "marks"
    marks.mkdir()
    names = ("append-", "upsert-", "together-")
    with made(tmp_path / "repo") as repo:
        done = submitted(cluster, str(PROGRAM), repo.uri, marks, settings=SPECULATION)
        assert done.returncode == 0, done.stderr[-3000:]
        attempts = {f"{name} {attempt}" for name in names for attempt in (0, 1)}
        assert {each.name for each in marks.iterdir()} >= attempts
        wanted = {f"{name}{number}" for name in names for number in range(400)}
        assert set(ids(repo, CITY).split()) == wanted
        repo.flush()
        assert [each for each in repo.verify().findings if each.severity.value != "info"] == []
