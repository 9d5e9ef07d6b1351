"""Without a supported pyspark the import fails with one typed line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("module", "found"),
    [("raise ImportError", "none"), ("__version__ = '4.2.1'", "4.2.1"),
     ("__version__ = '5.0.0.dev1'", "5.0.0.dev1")],
)  # fmt: skip
def test_import_without_a_supported_pyspark(tmp_path: Path, module: str, found: str) -> None:
    """The error is an ImportError, and says what to install."""
    (tmp_path / "pyspark.py").write_text(module)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import omnigraph_spark.jobs"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("omnigraph_spark.errors.PySparkMissing: ")
    assert f"found {found}." in last
    assert "pip install 'omnigraph-spark[pyspark]'" in last
