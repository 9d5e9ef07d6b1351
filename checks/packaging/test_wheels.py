"""The four wheels, each in an environment with nothing else in it. Run by ``nox -s packaging``."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
WHEELS = Path(os.environ.get("OMNIGRAPH_WHEELS", "no-wheels"))
NAMES = ("omnigraph_l1", "omnigraph_l2", "omnigraph_spark", "omnigraph_testing")

needs_wheels = pytest.mark.skipif(not WHEELS.is_dir(), reason="nox -s packaging builds the wheels")


class Environment:
    """A virtual environment that holds what was asked for and what that needs."""

    def __init__(self, folder: Path, wanted: str) -> None:
        self.python = folder / "bin" / "python"
        _run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, folder)
        install = (
            sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", self.python,
            "--constraint", ROOT / "constraints.txt", "--find-links", WHEELS, wanted,
        )  # fmt: skip
        try:
            # This run has fetched it all. Asking the index again, uv would build pyspark again.
            _run(*install, "--offline")
        except AssertionError:
            _run(*install)

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


@needs_wheels
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


@needs_wheels
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


@needs_wheels
def test_l2_alone_works_and_brings_neither_spark_nor_pytest(tmp_path: Path) -> None:
    """A service installs L2 and gets what it needs to serve."""
    environment = Environment(tmp_path / "env", "omnigraph-l2")
    assert environment.run("import omnigraph_l2; print('ok')").split() == ["ok"]
    installed = environment.packages()
    assert "omnigraph-l1" in installed
    assert installed.isdisjoint({"pyspark", "pytest", "hypothesis", "pandas"})


@needs_wheels
def test_the_page_is_in_the_wheel() -> None:
    """The wheel of L2 has every file of ``omnigraph explore``."""
    folder = "omnigraph_l2/_explore/static"
    source = ROOT / "packages" / "omnigraph-l2" / "src" / folder
    (wheel,) = WHEELS.glob("omnigraph_l2-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert {f"{folder}/{each.name}" for each in source.iterdir()} <= set(archive.namelist())


@needs_wheels
def test_the_command_line_is_an_extra(tmp_path: Path) -> None:
    """Without it the program says what to install; with it the program works."""
    bare = Environment(tmp_path / "bare", "omnigraph-l2")
    assert bare.packages().isdisjoint({"cyclopts", "rich"})
    said = subprocess.run(
        [bare.python.with_name("omnigraph"), "tables"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 2
    assert "pip install 'omnigraph-l2[cli]'" in said.stderr
    environment = Environment(tmp_path / "env", "omnigraph-l2[cli]")
    program, location = environment.python.with_name("omnigraph"), tmp_path / "graph"
    assert "load" in _run(program, "--help")
    _run(program, "init", location)
    assert '"tables": []' in _run(program, "tables", "--repo", location, "--json")


@needs_wheels
def test_spark_alone_works(tmp_path: Path) -> None:
    """Spark is an extra, because a cluster brings its own; without it one line says so.

    That is so where it is needed: errors and help are there without it.
    """
    bare = Environment(tmp_path / "bare", "omnigraph-spark")
    assert "pyspark" not in bare.packages()
    assert bare.run("import omnigraph_spark.errors; print('ok')").split() == ["ok"]
    program = bare.python.with_name("omnigraph-spark")
    assert "--dangling-edges" in _run(program, "verify", "--help")
    job = [bare.python, "-I", "-c", "from omnigraph_spark import session"]
    for command in (job, [program, "verify", "graph"]):
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        assert said.returncode == 1
        assert "pip install 'omnigraph-spark[pyspark]'" in said.stderr.splitlines()[-1]
        assert command is job or len(said.stderr.splitlines()) == 1
    environment = Environment(tmp_path / "env", "omnigraph-spark[pyspark]")
    modules = "omnigraph_spark, pyspark_omnigraph, pyspark.sql"
    assert environment.run(f"import {modules}; print('ok')").split() == ["ok"]
    installed = environment.packages()
    assert {"pyspark", "omnigraph-l2", "omnigraph-l1"} <= installed
    assert installed.isdisjoint({"pytest", "hypothesis"})


@needs_wheels
def test_the_base_of_testing_is_small_and_names_its_extra(tmp_path: Path) -> None:
    """Gateway, rules and S3 fixtures need no Lance; what needs a graph says what to install."""
    environment = Environment(tmp_path / "env", "omnigraph-testing[moto]")
    installed = environment.packages()
    assert installed.isdisjoint({"omnigraph-l1", "omnigraph-l2", "pylance", "pyarrow"})
    (tmp_path / "test_it.py").write_text(BASE_STORY)
    shown = subprocess.run(
        [environment.python, "-m", "pytest", "-q", "--omnigraph-s3=moto", "-p", "no:cacheprovider"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    assert "2 passed, 1 error" in shown, shown
    assert "omnigraph_l2" in shown or "pyarrow" in shown
    assert "Run: pip install 'omnigraph-testing[graph]'" in shown


@needs_wheels
def test_the_base_of_testing_stays_below_100_mb(tmp_path: Path) -> None:
    """Its dependencies included, without the extras."""
    Environment(tmp_path / "env", "omnigraph-testing")
    size = sum(path.lstat().st_size for path in (tmp_path / "env").rglob("*"))
    assert size < 100_000_000


BASE_STORY = """
import pytest
from omnigraph_testing import AtPoint, CutReply, MissingExtra, Rule


def test_a_lost_reply(faulty_s3):
    faulty_s3.inject(Rule(CutReply(), "PUT", times=1))
    faulty_s3.obstore().put("x", b"1")
    assert bytes(faulty_s3.obstore().get("x").bytes()) == b"1"


def test_imports(omnigraph_crash):
    assert omnigraph_crash.run(str, 3).value == "3"
    with pytest.raises(MissingExtra, match="needs omnigraph_l1"):
        omnigraph_crash.run(str, 3, kill=AtPoint("x"))
    with pytest.raises(MissingExtra):
        import omnigraph_testing.contracts.refs
    with pytest.raises(MissingExtra):
        from omnigraph_testing import sample_graph


def test_a_repository(omnigraph_repo):
    pass
"""
STORY = Path(__file__).parent / "downstream_project.py"
INSTRUMENTS = {
    "AtMoment", "AtPoint", "AtRequest", "FaultyStore", "RefStoreContract", "RepositoryContract",
    "Rule", "check", "declare", "expect", "failpoint", "histories", "hold", "inject", "latency",
    "mark", "release", "run", "schemas", "start_faulty_s3", "tables",
}  # fmt: skip


def test_the_project_elsewhere_uses_every_fixture_and_instrument() -> None:
    """What the package offers is tried where its users are, so that nothing is left out of it."""
    plugin = ROOT / "packages/omnigraph-testing/src/omnigraph_testing/plugin.py"
    fixtures = {
        node.name
        for node in ast.parse(plugin.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and any("fixture" in ast.unparse(each) for each in node.decorator_list)
    }
    assert {
        "faulty_s3",
        "omnigraph_crash",
        "omnigraph_repo",
        "omnigraph_s3_server",
        "s3_store",
    } <= fixtures
    story = ast.parse(STORY.read_text())
    used = {each.id for each in ast.walk(story) if isinstance(each, ast.Name)}
    used |= {each.attr for each in ast.walk(story) if isinstance(each, ast.Attribute)}
    asked_for = {each.arg for each in ast.walk(story) if isinstance(each, ast.arg)}
    assert fixtures - asked_for == set()
    assert INSTRUMENTS - used == set()


@needs_wheels
def test_a_project_elsewhere_gets_the_fixtures_by_plain_pytest(tmp_path: Path) -> None:
    """Installing omnigraph-testing is all that a project does; then each of its tests runs."""
    environment = Environment(tmp_path / "env", "omnigraph-testing[graph,s3,moto]")
    project = tmp_path / "elsewhere"
    project.mkdir()
    (project / "test_mine.py").write_text(STORY.read_text())
    for path in (ROOT / "docs/examples/downstream").glob("*.py"):
        (project / path.name).write_text(path.read_text())
    shown = _run(
        environment.python, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider",
        cwd=project,
    )  # fmt: skip
    assert re.search(r"^\d{2,} passed in", shown, re.MULTILINE), shown
    where = environment.run("import omnigraph_testing as t; print(t.__file__)")
    assert Path(where.strip()).is_relative_to(tmp_path)
