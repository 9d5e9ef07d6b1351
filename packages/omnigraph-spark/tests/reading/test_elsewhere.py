"""Sessions of others: on a standalone cluster, to which a program is submitted; Spark Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spark_graph import CITY, PERSON, ids, made
from standalone import submitted

from omnigraph_l2 import Repository
from omnigraph_testing import S3Store, sample_graph

PROGRAM = Path(__file__).parent.parent / "shared" / "readingjob.py"
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.01",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10",
}
WANTED = {
    "people": ["ann", "bob", "eve"],
    "old": 1,
    "names": ["g_City", "g_Knows", "g_Lives", "g_Person"],
    "towns": ["Oslo"],
    "degrees": {"ann": 2, "bob": 2, "eve": 0, "oslo": 2, "人": 0},
    "error": "unknown_table",
}


def printed(done: subprocess.CompletedProcess[str], secret: str | None = None) -> dict[str, Any]:
    """Read what the program printed last."""
    assert done.returncode == 0, done.stderr[-3000:]
    assert secret is None or secret not in done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.spark
def test_on_a_standalone_cluster_and_s3(s3_store: S3Store, cluster: str, tmp_path: Path) -> None:
    """Executors read what the driver pinned, without registering the format or logging a secret.

    Where tasks run twice at once, as with speculation, one of both attempts counts.
    """
    storage, marks = dict(s3_store.storage_options), tmp_path / "marks"
    marks.mkdir()
    with sample_graph(s3_store.uri("graph"), storage) as repo, made(tmp_path / "repo") as written:
        done = submitted(
            cluster, str(PROGRAM), "submitted", repo.uri, json.dumps(storage), written.uri, marks,
            settings=SPECULATION,
        )  # fmt: skip
        assert printed(done, storage["aws_secret_access_key"]) == WANTED
        names = ("append-", "upsert-", "together-")
        attempts = {f"{name} {attempt}" for name in names for attempt in (0, 1)}
        assert {each.name for each in marks.iterdir()} >= attempts
        wanted = {f"{name}{number}" for name in names for number in range(400)}
        assert set(ids(written, CITY).split()) == wanted
        written.flush()
        assert [each for each in written.verify().findings if each.severity.value != "info"] == []


@pytest.mark.spark
def test_the_program_on_a_standalone_cluster(tmp_path: Path, cluster: str) -> None:
    """A location need not be absolute, the status is that of the job, and the report comes last."""
    command = [sys.executable, "-m", "omnigraph_spark", "--where"]
    where = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    with made(tmp_path / "repo") as repo:
        with repo.transaction(check_edges=False) as tx:
            tx.delete(PERSON, ids=["b"])
        repo.flush()
        done = submitted(
            cluster, where, "verify", "repo", "--dangling-edges", cwd=tmp_path,
            settings={"spark.cores.max": "1"},  # one executor is enough
        )  # fmt: skip
        assert done.returncode == 5, done.stderr
    *told, report, finding = done.stdout.splitlines()  # to which Spark brings standard error
    assert any("edge:Knows of branch main, ends" in line for line in told)
    assert report.startswith(f"{tmp_path / 'repo'}: 1 error.")
    assert finding.startswith("error: dangling-edge: edge:Knows of branch main")


@pytest.mark.spark
def test_through_spark_connect(omnigraph_repo: Repository) -> None:
    """Reading, views, joins, typed errors, writing, jobs and streams are the same there."""
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    done = subprocess.run(
        [sys.executable, PROGRAM, "connect", omnigraph_repo.uri, "{}"],
        capture_output=True, text=True, check=False, timeout=570,
        # Testing, Spark takes a port that is free, and not the one that everybody knows.
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_TESTING": "1"},
    )  # fmt: skip
    written = {"exported": 4, "taken": 5, "sound": True, "streamed": ["oslo", "rome", "人"]}
    assert printed(done) == {**WANTED, "written": written}
