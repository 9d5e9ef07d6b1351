"""Without a supported pyspark, one typed line says so where it is needed, and only there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run_beside(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with what a folder holds instead of pyspark."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("module", "found"),
    [("raise ImportError", "none"), ("__version__ = '4.2.1'", "4.2.1"),
     ("__version__ = '5.0.0.dev1'", "5.0.0.dev1"), ("", "one without a version: <module 'pyspark'"),
     ("__version__ = None", "one without a version: <module 'pyspark'")],
)  # fmt: skip
def test_what_needs_a_supported_pyspark(tmp_path: Path, module: str, found: str) -> None:
    """The error is an ImportError, and says what to install."""
    (tmp_path / "pyspark.py").write_text(module)
    done = run_beside(tmp_path, "-c", "import omnigraph_spark.jobs")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("omnigraph_spark.errors.PySparkMissing: ")
    assert f"found {found}" in last
    assert "pip install 'omnigraph-spark[pyspark]'" in last


def test_what_needs_no_pyspark(tmp_path: Path) -> None:
    """The errors can be caught by name, and the program says what it takes."""
    (tmp_path / "pyspark.py").touch()
    done = run_beside(
        tmp_path,
        "-c",
        "from omnigraph_spark import errors\n"
        "try:\n"
        "    from omnigraph_spark import session\n"
        "except errors.PySparkMissing as error:\n"
        "    assert 'without a version' in str(error)\n"
        "else:\n"
        "    raise AssertionError\n",
    )
    assert done.returncode == 0, done.stderr
    helped = run_beside(tmp_path, "-m", "omnigraph_spark", "export", "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    assert "{parquet,csv,ndjson}" in helped.stdout
    refused = run_beside(tmp_path, "-m", "omnigraph_spark", "export", "graph", "out")
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert line.startswith("pyspark_missing: ")
