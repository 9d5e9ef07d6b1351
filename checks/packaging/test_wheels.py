"""The four wheels, each in an environment with nothing else in it. Run by ``nox -s packaging``."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
WHEELS = Path(os.environ.get("OMNIGRAPH_WHEELS", "no-wheels"))
NAMES = ("omnigraph_l1", "omnigraph_l2", "omnigraph_spark", "omnigraph_testing")

pytestmark = pytest.mark.skipif(not WHEELS.is_dir(), reason="nox -s packaging builds the wheels")


class Environment:
    """A virtual environment that holds what was asked for and what that needs."""

    def __init__(self, folder: Path, wanted: str) -> None:
        self.python = folder / "bin" / "python"
        _run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, folder)
        _run(
            sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", self.python,
            "--constraint", ROOT / "constraints.txt", "--find-links", WHEELS, wanted,
        )  # fmt: skip

    def run(self, code: str) -> str:
        """Run a program in it, far from the checkout."""
        return _run(self.python, "-I", "-c", code, cwd=self.python.parent)

    def packages(self) -> set[str]:
        """Name what is installed."""
        code = "import importlib.metadata as m; print(*(d.name.lower() for d in m.distributions()))"
        return set(self.run(code).split())


def _run(*command: object, cwd: Path | None = None) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_wheel_carries_readme_licence_and_typing_marker(name: str) -> None:
    """What a user of the wheel sees is in it, and nothing of the tests."""
    (wheel,) = WHEELS.glob(f"{name}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
        (metadata,) = (n for n in files if n.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    assert f"{name}/py.typed" in files
    assert any(n.endswith("licenses/LICENSE") for n in files)
    assert "License-Expression: Apache-2.0" in text
    assert (ROOT / "packages" / name.replace("_", "-") / "README.md").read_text().strip() in text
    assert not any(n.rpartition("/")[2].startswith("test_") for n in files)


def test_l1_alone_works(tmp_path: Path) -> None:
    """A table can be made and read with the wheel of L1 and what it names, nothing else."""
    environment = Environment(tmp_path / "env", "omnigraph-l1")
    shown = environment.run(
        "import pyarrow as pa, tempfile\n"
        "from omnigraph_l1 import Table\n"
        "schema = pa.schema([pa.field('id', pa.string(), False)])\n"
        "t = Table.create(tempfile.mkdtemp() + '/t', schema)\n"
        "print(t.append(pa.table({'id': ['a']}, schema=t.schema)).table.count())"
    )
    assert shown.split() == ["1"]


def test_l2_alone_works_and_brings_neither_spark_nor_pytest(tmp_path: Path) -> None:
    """A service installs L2 and gets what it needs to serve."""
    environment = Environment(tmp_path / "env", "omnigraph-l2")
    assert environment.run("import omnigraph_l2; print('ok')").split() == ["ok"]
    installed = environment.packages()
    assert "omnigraph-l1" in installed
    assert installed.isdisjoint({"pyspark", "pytest", "hypothesis", "pandas"})


def test_spark_alone_works(tmp_path: Path) -> None:
    """A cluster installs the Spark package and gets Spark and L2 with it, but no test tools."""
    environment = Environment(tmp_path / "env", "omnigraph-spark")
    assert environment.run("import omnigraph_spark, pyspark.sql; print('ok')").split() == ["ok"]
    installed = environment.packages()
    assert {"pyspark", "omnigraph-l2", "omnigraph-l1"} <= installed
    assert installed.isdisjoint({"pytest", "hypothesis"})


def test_a_project_elsewhere_gets_the_fixtures_by_plain_pytest(tmp_path: Path) -> None:
    """Installing omnigraph-testing is all that a downstream project does."""
    environment = Environment(tmp_path / "env", "omnigraph-testing[s3]")
    project = tmp_path / "elsewhere"
    project.mkdir()
    source = Path(__file__).parent / "downstream_project.py"
    (project / "test_mine.py").write_text(source.read_text())
    shown = _run(environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert " passed" in shown
    assert "skipped" not in shown
