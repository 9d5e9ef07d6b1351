"""The program: run as a process, as a shell or spark-submit does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from spark_graph import PERSON, made

from omnigraph_spark._jobs.arguments import parser

QUIET = ["--master", "local[1]", "--conf", "spark.ui.enabled=false"]
QUIET += ["--conf", "spark.sql.shuffle.partitions=1"]


def program(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run it."""
    command = [sys.executable, "-m", "omnigraph_spark", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_wrong_words() -> None:
    """They are told before Spark starts, with status 2."""
    for words in (["merge", "x"], ["verify", "x", "--storage", "secret"]):
        done = program(*words)
        assert done.returncode == 2
        assert "usage: omnigraph-spark" in done.stderr
        assert done.stdout == ""


def test_help() -> None:
    """Every job says what it takes, and where spark-submit finds the program."""
    text = parser().format_help()
    for job in ("load", "merge", "diff", "verify", "optimize", "export"):
        assert f"\n    {job} " in text
    done = program("export", "--help")
    assert done.returncode == 0
    assert "--storage KEY=VALUE" in done.stdout
    where = program("--where").stdout.strip()
    assert Path(where).name == "__main__.py"
    assert Path(where).is_file()


@pytest.mark.spark
def test_a_job(tmp_path: Path) -> None:
    """The report goes to standard output, how far it has come to standard error."""
    with made(tmp_path / "repo") as repo:
        repo.flush()
        done = program("verify", repo.uri, "--dangling-edges", *QUIET)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{repo.verify(dangling_edges=True)}\n"
        assert "node:Person" in done.stderr
        (data,) = Path(repo.uri, repo.snapshot().tables[PERSON].table_path, "data").iterdir()
        data.unlink()
        done = program("verify", repo.uri, "--json", "--quiet", *QUIET)
        assert done.returncode == 5, done.stderr
        report = json.loads(done.stdout)
        assert report["findings"][0]["kind"] == "data-unreadable"
        assert report["findings"][0]["severity"] == "error"


@pytest.mark.spark
def test_files_are_loaded(tmp_path: Path) -> None:
    """What a mapping says; the second time under one name, nothing is done."""
    (tmp_path / "people.csv").write_text("id,age\nzoe,3\n,4\n")
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(f'[[tables]]\ntable = "{PERSON}"\nfiles = ["people.csv"]\n')
    with made(tmp_path / "repo") as repo:
        words = ["load", repo.uri, mapping, "--operation-hash", "once", *QUIET]
        done = program(*words)
        assert done.returncode == 1, done.stderr
        assert "too_many_rejects: " in done.stderr
        done = program(*words, "--max-rejects", "50%", "--rejects", tmp_path / "aside", "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["tables"][PERSON]["loaded"] == 1
        assert report["commit_id"] == repo.log(limit=1)[0].graph_commit_id
        assert list(Path(report["rejects"]).rglob("part-*"))


@pytest.mark.spark
def test_a_conflict_and_what_is_not_there(tmp_path: Path) -> None:
    """What became of it is in the status; a person reads what to do, and no traceback."""
    with made(tmp_path / "repo") as repo:
        repo.branches.create("side")
        for branch, age in (("side", 7), ("main", 8)):
            with repo.transaction(branch) as tx:
                tx.upsert(PERSON, [{"id": "a", "age": age}])
        done = program("merge", repo.uri, "side", *QUIET)
        assert done.returncode == 4, done.stderr
        assert "merge_conflicts: " in done.stderr
        assert "Traceback" not in done.stderr
    done = program("export", tmp_path / "nothing", tmp_path / "out", *QUIET)
    assert done.returncode == 1
    assert "repository_not_found: " in done.stderr
