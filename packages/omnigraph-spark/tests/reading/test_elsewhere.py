"""Reading with executors that are processes of their own, and through Spark Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from omnigraph_l2 import Repository
from omnigraph_testing import S3Store, sample_graph

PROGRAM = Path(__file__).parent.parent / "shared" / "readingjob.py"
WANTED = {
    "people": ["ann", "bob", "eve"],
    "old": 1,
    "names": ["g_City", "g_Knows", "g_Lives", "g_Person"],
    "towns": ["Oslo"],
    "degrees": {"ann": 2, "bob": 2, "eve": 0, "oslo": 2, "人": 0},
    "error": "unknown_table",
}


def ran(master: str, repo: Repository, storage: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run the program, and read what it printed."""
    done = subprocess.run(
        [sys.executable, PROGRAM, master, repo.uri, json.dumps(dict(storage or {}))],
        capture_output=True, text=True, check=False, timeout=400,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    secret = (storage or {}).get("aws_secret_access_key")
    assert secret is None or secret not in done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.spark
def test_on_a_cluster_and_s3(s3_store: S3Store) -> None:
    """Two executors read what the driver pinned; no log of theirs has the secret."""
    with sample_graph(s3_store.uri("graph"), s3_store.storage_options) as repo:
        assert ran("local-cluster[2,1,1024]", repo, s3_store.storage_options) == WANTED


@pytest.mark.spark
def test_through_spark_connect(omnigraph_repo: Repository) -> None:
    """Reading, views, joins, typed errors, writing, jobs and streams are the same there."""
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    written = {"exported": 4, "taken": 5, "sound": True, "streamed": ["oslo", "rome", "人"]}
    assert ran("connect", omnigraph_repo) == {**WANTED, "written": written}
