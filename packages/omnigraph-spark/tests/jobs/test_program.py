"""The program: run as a process, as a shell does, and its jobs one after the other."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import attrs
import pytest
from pyspark.sql import SparkSession
from spark_graph import PERSON, made

from omnigraph_spark._program.job_program import run_job


@attrs.frozen
class Program:
    """The program, with a session that is there already."""

    spark: SparkSession
    captured: pytest.CaptureFixture[str]

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Give its status, its output, and what it told on the way."""
        status = run_job([*map(str, arguments)], lambda _: nullcontext(self.spark))
        found = self.captured.readouterr()
        return status, found.out, found.err


@pytest.fixture
def program(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> Program:
    """The program."""
    return Program(spark, capsys)


def process(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run it as a shell does."""
    command = [sys.executable, "-m", "omnigraph_spark", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_wrong_words() -> None:
    """They are told before Spark starts, with status 2."""
    for words in (["merge", "x"], ["verify", "x", "--storage", "secret:x"]):
        done = process(*words)
        assert done.returncode == 2
        assert "usage: omnigraph-spark" in done.stderr
        assert done.stdout == ""
        assert "secret:" not in done.stderr


def test_help() -> None:
    """Every job says what it takes, and where spark-submit finds the program."""
    text = process("--help").stdout
    for job in ("load", "merge", "diff", "verify", "optimize", "export"):
        assert f"\n    {job} " in text
    done = process("export", "--help")
    assert done.returncode == 0
    assert "--storage KEY=VALUE" in done.stdout
    where = process("--where").stdout.strip()
    assert Path(where).name == "__main__.py"
    assert Path(where).is_file()


@pytest.mark.spark
def test_damage(program: Program, tmp_path: Path) -> None:
    """It is status 5, and the findings are JSON where that was asked for."""
    with made(tmp_path / "repo") as repo:
        (data,) = Path(repo.uri, repo.snapshot().tables[PERSON].table_path, "data").iterdir()
        data.unlink()
        status, out, told = program("verify", repo.uri, "--json", "--quiet")
        assert (status, told) == (5, "")
        report = json.loads(out)
        assert report["findings"][0]["kind"] == "data-unreadable"
        assert report["findings"][0]["severity"] == "error"


@pytest.mark.spark
def test_files_are_loaded(program: Program, tmp_path: Path) -> None:
    """What a mapping says; rows that do not fit are as many as were allowed, or nothing is done."""
    (tmp_path / "people.csv").write_text("id,age\nzoe,3\n,4\n")
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(f'[[tables]]\ntable = "{PERSON}"\nfiles = ["people.csv"]\n')
    with made(tmp_path / "repo") as repo:
        words = ["load", repo.uri, mapping, "--operation-hash", "once"]
        status, out, told = program(*words)
        assert (status, out) == (1, "")
        assert "too_many_rejects: " in told
        aside = tmp_path / "aside"
        status, out, _ = program(*words, "--max-rejects", "50%", "--rejects", aside, "--json")
        report = json.loads(out)
        assert status == 0
        assert report["tables"][PERSON]["loaded"] == 1
        assert report["commit_id"] == repo.log(limit=1)[0].graph_commit_id
        assert list(Path(report["rejects"]).rglob("part-*"))
        mapping.write_text('[[tables]]\ntable = "node:Nobody"\nfiles = ["people.csv"]\n')
        status, _, told = program("load", repo.uri, mapping)
        assert status == 2
        assert "invalid_mapping: " in told


@pytest.mark.spark
def test_what_became_of_it(program: Program, tmp_path: Path) -> None:
    """A conflict is 4, a difference 3 where that was asked for, what is not there 1."""
    with made(tmp_path / "repo") as repo:
        repo.branches.create("side")
        for branch, age in (("side", 7), ("main", 8)):
            with repo.transaction(branch) as tx:
                tx.upsert(PERSON, [{"id": "a", "age": age}])
        status, out, told = program("merge", repo.uri, "side")
        assert (status, out) == (4, "")
        assert "merge_conflicts: " in told
        status, out, _ = program("diff", repo.uri, "main", "side", "--exit-code")
        assert status == 3
        assert "1 updated" in out
        assert program("diff", repo.uri, "main", "side", "--quiet")[0] == 0
        assert program("diff", repo.uri, "main", "main", "--exit-code")[0] == 0
        status, _, told = program("optimize", repo.uri, "--branch", "nothing")
        assert status == 1
        assert "unknown_branch: " in told
        status, _, told = program("export", repo.uri, tmp_path / "out", "--table", "City")
        assert (status, "unknown_table: " in told) == (1, True)
    status, _, told = program("export", tmp_path / "nothing", tmp_path / "out")
    assert (status, "repository_not_found: " in told) == (1, True)
