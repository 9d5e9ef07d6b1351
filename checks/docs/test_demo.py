"""The demonstration prints what is so, ends as README says, and leaves a repository to try."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph_l2 import Repository

pytestmark = pytest.mark.xdist_group("demo")  # it is run once for all tests of its end

ROOT = Path(__file__).resolve().parent.parent.parent
DEMO = ROOT / "docs" / "examples" / "demo"
_ENDING = re.compile(r"dev\.py demo\n```.*?^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _run(folder: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(DEMO), *arguments], cwd=folder, capture_output=True,
        text=True, check=False, timeout=300,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def location(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the demonstration was run before."""
    folder = tmp_path_factory.mktemp("demo")
    _run(folder, "--no-spark")
    return folder


@pytest.fixture(scope="module")
def told(location: Path) -> str:
    """Return what it prints when it is run again."""
    return _run(location, "--no-spark")


def test_it_ends_as_readme_says(told: str) -> None:
    """README shows the last lines as they are."""
    found = _ENDING.search((ROOT / "README.md").read_text())
    assert found, "README does not say how the demonstration ends"
    promised = [line for line in found[1].splitlines() if not line.startswith("nox >")]
    assert told.splitlines()[-len(promised) :] == promised


def test_it_shows_what_it_says(told: str) -> None:
    """Refusals are real ones, the killed process was killed, and its rows never got in."""
    for line in (
        "before the end, this transaction reads 1,611 packages, the other program 0",
        "openssl on security: 3.0.22-1~deb12u2, on main: 3.0.20-1~deb12u2",
        "✗ DanglingEdges",
        "✗ ExpectedVersionMismatch",
        "exit status -9; version 10 of the dataset: 1 ghost",
        "the graph shows version 9: ghost is not there",
        "no repair: ghost is not there",
        "rows: whole",
        "7,217,249 before, 0 by mistake, 7,217,249 after the revert",
    ):
        assert line in told, line
    assert "\033" not in told, "colours, and no terminal"


def test_what_it_leaves_can_be_played_with(location: Path, told: str) -> None:
    """The commands of its last lines run as they stand; the repository is whole."""
    shell = {**os.environ, "OMNIGRAPH_REPO": str(Path("omnigraph-demo", "graph"))}
    for command in re.findall(r"\.nox/demo/bin/omnigraph (.*)", told):
        served = ["--help"] if command == "explore" else []  # else it would not end
        typed = [str(Path(sys.executable).with_name("omnigraph")), *command.split(), *served]
        done = subprocess.run(
            typed, cwd=location, env=shell, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
    lines = re.findall(r">>> (.*)", told)
    assert lines
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(lines)], cwd=location, capture_output=True,
        text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with Repository.open(location / "omnigraph-demo" / "graph") as repo:
        assert [branch.name for branch in repo.branches.list()] == ["main", "security"]
        messages = [commit.message for commit in repo.log()]
        assert messages[0] == "revert 'oops'"
        assert messages[-2:] == ["Debian 12", None]
        assert repo.verify().ok


def test_without_spark_it_says_how_to_get_it(tmp_path: Path) -> None:
    """Where Spark cannot be imported, one line says what it takes."""
    (tmp_path / "omnigraph_spark.py").write_text("raise ImportError")
    assert "Spark was left out: it needs Java 17" in _run(tmp_path, PYTHONPATH=str(tmp_path))


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    """In a word, and without a traceback."""
    # A run in the background ignores Ctrl-C, and so would what it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        running = subprocess.Popen(
            [sys.executable, "-u", str(DEMO), "--no-spark"], cwd=tmp_path, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    assert running.stdout
    while "Load" not in running.stdout.readline():
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    _, complained = running.communicate(timeout=300)
    assert (complained, running.returncode) == ("Ended.\n", 130)


@pytest.mark.spark
def test_spark_reads_the_same(tmp_path: Path) -> None:
    """Where Spark and Java are, it counts what Python counts, and Java's lines are in a file."""
    told = _run(tmp_path)
    assert "packages: 1,613 by Spark, 1,613 by Python; as released: 1,611" in told
    by_python, by_spark = re.findall(r"^ +libc6 +([\d,]+)", told, re.MULTILINE)
    assert by_python == by_spark
    assert (tmp_path / "omnigraph-demo" / "spark.log").read_text()


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("1:0.9", "2.0"),
        ("3.0.22-1~deb12u2", "3.0.20-1~deb12u2"),
        ("1.10", "1.9"),
        ("1.0", "1.0~rc1"),
        ("1.0~rc1-1", "1.0~beta2-3"),
        ("1.0-1+b1", "1.0-1"),
        ("1.0+dfsg", "1.0a"),
    ],
)
def test_versions_are_compared_as_debian_does(
    newer: str, older: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epochs first, numbers as numbers, ``~`` before everything."""
    monkeypatch.syspath_prepend(str(DEMO))
    from debian_graph import is_newer  # noqa: PLC0415  # found by that path only

    assert is_newer(newer, older)
    assert not is_newer(older, newer)
