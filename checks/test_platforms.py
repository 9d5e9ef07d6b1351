"""A platform that is not supported is refused at import; those that docs call tested are."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from layout import PACKAGES, ROOT


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize(
    "other",
    [
        "sys.platform = 'win32'",
        "sys.platform = 'cygwin'",
        "sys.maxsize = 2**31 - 1",
        "sys.version_info = (3, 10, 9)",
    ],
)
def test_another_platform_is_refused_at_import(package: str, other: str) -> None:
    """Windows, 32 bit and an old Python: before anything of theirs fails in a way of its own."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {other}; import {package}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: omnigraph-")
    assert last.endswith("needs Linux or macOS and a 64-bit Python 3.11 or later")


def test_the_docs_say_on_which_spark_ci_runs() -> None:
    """The tested row of docs/spark.md is what the workflow of CI installs."""
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    pythons = re.findall(r"^ +python: \[(.*)\]", workflow, re.MULTILINE)
    java = re.findall(r'java-version: "(\d+)"', workflow)
    spark = re.findall(r"^pyspark==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert [len(each) for each in (pythons, java, spark)] == [1, 1, 1]
    row = f"| {spark[0]} | {pythons[0].replace(chr(34), '')} | {java[0]} | all tests, in each run"
    assert row in (ROOT / "docs" / "spark.md").read_text()
