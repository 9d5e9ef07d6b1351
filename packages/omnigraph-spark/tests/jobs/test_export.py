"""Exports: the tables of one moment, in files that every program reads."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime, time, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from spark_graph import CITY, KNOWS, PERSON, everything, made, person

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2.errors import UnknownTable
from omnigraph_spark import jobs
from omnigraph_spark._jobs.output_files import folder_of, refuse_inside
from omnigraph_spark._program.job_program import run_job
from omnigraph_spark.errors import InexactValue, InvalidOptions, JobFailed, OutputExists

pytestmark = pytest.mark.spark

TEXTS = ["", " lead", "trail\t ", 'q"uo\\te', "a\\", 'a\\,"b', "two\nlines", "x\r", '""', "ж"]
Confs: TypeAlias = Callable[[Mapping[str, str]], None]
MOMENT = "2026-01-31T12:00:00.123456"


def lines(location: Path) -> list[dict[str, Any]]:
    """Read what Spark wrote as JSON."""
    texts = [each.read_text() for each in sorted(location.glob("part-*"))]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def test_one_moment(spark: SparkSession, tmp_path: Path) -> None:
    """All tables, as they were; what was written is told at the end, also beside the files."""
    told: list[str] = []
    with made(tmp_path / "repo") as repo:
        repo.tags.create("v1")
        with repo.transaction() as tx:
            tx.append(PERSON, [person("late")])
        out = tmp_path / "out"
        report = jobs.export(spark, repo.uri, str(out), tag="v1", progress=told.append)
        rows = {row["id"]: row for row in pq.read_table(out / "nodes" / "Person").to_pylist()}
        assert rows == everything(repo, tag="v1")
        assert pq.read_table(out / "edges" / "Knows").num_rows == 1
        assert pq.read_table(out / "nodes" / "City").num_rows == 0
        counts = {key: each.rows for key, each in report.tables.items()}
        assert counts == {PERSON: 2, CITY: 0, KNOWS: 1}
        assert report.commit_id == repo.tags.get("v1").graph_commit_id
        summary = {row["table"]: row for row in lines(out / "_export")}
        assert {key: row["rows"] for key, row in summary.items()} == counts
        assert summary[PERSON]["commit"] == report.commit_id
    assert "3 rows of main" in str(report)
    assert any("node:Person: 2 rows" in line for line in told)


def test_nothing_is_written_over(spark: SparkSession, tmp_path: Path) -> None:
    """All that is in the way is named, before anything is written; it can be asked for."""
    with made(tmp_path / "repo") as repo:
        out = tmp_path / "out*{a}"  # which is no pattern here
        jobs.export(spark, repo.uri, str(out), tables=[PERSON])
        with pytest.raises(OutputExists) as raised:
            jobs.export(spark, repo.uri, str(out))
        assert [Path(each).name for each in raised.value.paths] == ["Person", "_export"]
        assert not (out / "edges").exists()
        with repo.transaction() as tx:
            tx.append(PERSON, [person("late")])
        report = jobs.export(spark, repo.uri, str(out), overwrite=True)
        assert pq.read_table(out / "nodes" / "Person").num_rows == 3
        assert len(lines(out / "_export")) == len(report.tables) == 3


def test_names_of_folders() -> None:
    """A type may be called anything; its folder lies where it should, and is its own."""
    plain = {"Person": "Person", "..": "%2E.", ".": "%2E", ".hid": "%2Ehid", "a.b": "a.b"}
    plain |= {"a/b": "a%2Fb", "a%2Fb": "a%252Fb", "../x": "%2E.%2Fx", "%2E.": "%252E."}
    found = {name: folder_of("out/", f"node:{name}") for name in plain}
    assert found == {name: f"out/nodes/{folder}" for name, folder in plain.items()}
    # The longest that a file system takes has 255 bytes.
    near = ("ж" * 200, "ж" * 199 + "x", "x" * 1000, "x" * 999 + "y", "x" * 200, "x" * 201)
    folders = {Path(folder_of("out", f"edge:{name}")).name for name in near}
    assert len(folders) == len(near)
    assert max(map(len, folders)) <= 220
    assert all(re.fullmatch(r"(%[0-9A-F]{2})+x?|[^%]+", each.partition("~")[0]) for each in folders)


def test_nothing_is_written_into_the_repository(spark: SparkSession, tmp_path: Path) -> None:
    """However its location is called; neither by an export, nor by a diff or a load."""
    with made(tmp_path / "repo") as repo:
        (tmp_path / "link").symlink_to(tmp_path / "repo")
        before = sorted((tmp_path / "repo").rglob("*"))
        for location in (repo.uri, f"file://{repo.uri}/", str(tmp_path / "link" / "out")):
            with pytest.raises(InvalidOptions, match="is in the repository"):
                jobs.export(spark, repo.uri, location, overwrite=True)
            with pytest.raises(InvalidOptions, match="is in the repository"):
                jobs.diff(spark, repo.uri, 1, "main", out=location)
            with pytest.raises(InvalidOptions, match="is in the repository"):
                jobs.load(spark, repo.uri, {"tables": []}, rejects=location)
        assert sorted((tmp_path / "repo").rglob("*")) == before
    for location in ("s3a://bucket/graph", "s3://bucket/graph/out", "s3://bucket//graph/"):
        with pytest.raises(InvalidOptions, match="bucket"):
            refuse_inside("s3://bucket/graph", "out", location)
    refuse_inside("s3://bucket/graph", "out", "s3a://bucket/graph-out")


def test_a_type_that_leads_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    """What lies above its folder is left alone, and each table is there afterwards."""
    long = "ж" * 200
    schema = GraphSchema(nodes=[NodeType("Aaa"), NodeType(".."), NodeType("."), NodeType(long)])
    out = tmp_path / "out"
    out.mkdir()
    (out / "precious").write_text("mine")
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        with repo.transaction() as tx:
            for node in schema.nodes:
                tx.append(node.table_key, [{"id": node.name}])
        report = jobs.export(spark, repo.uri, str(out), overwrite=True)
    assert (out / "precious").read_text() == "mine"
    for node in schema.nodes:
        written = pq.read_table(report.tables[node.table_key].path)
        assert written.to_pylist() == [{"id": node.name}]


def test_values_are_exact(spark: SparkSession, tmp_path: Path, confs: Confs) -> None:
    """To the last digit and space, whatever the session says of times."""
    confs({"spark.sql.session.timeZone": "America/New_York"})
    at = datetime(2026, 1, 31, 12, 0, 0, 123456, timezone.utc)
    rows = [
        {"id": str(number), "text": text, "at": at, "local": at.replace(tzinfo=None)}
        for number, text in enumerate(TEXTS)
    ]
    columns = {"text": pa.string(), "at": pa.timestamp("us", "UTC"), "local": pa.timestamp("us")}
    schema = GraphSchema(nodes=[NodeType("T", columns)])
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append("node:T", rows)
        location = {}
        for name in jobs.FORMATS:
            jobs.export(spark, repo.uri, str(tmp_path / name), format=name)
            location[name] = tmp_path / name / "nodes" / "T"
    found = pq.read_table(location["parquet"])
    assert found.schema.field("at").type == pa.timestamp("us", "UTC")
    assert sorted(found.to_pylist(), key=lambda row: int(row["id"])) == rows
    told = [{**row, "at": MOMENT + "Z", "local": MOMENT} for row in rows]
    assert sorted(lines(location["ndjson"]), key=lambda row: int(row["id"])) == told
    (written,) = location["csv"].glob("part-*")
    with written.open(newline="") as opened:
        assert list(csv.DictReader(opened)) == told


def test_an_export_that_fails_midway(spark: SparkSession, tmp_path: Path) -> None:
    """What is wrong is told as what it is, and nothing says that the export has ended."""
    schema = GraphSchema(nodes=[NodeType("A"), NodeType("B", {"t": pa.timestamp("ns")})])
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        out = tmp_path / "out"
        jobs.export(spark, repo.uri, str(out))
        assert (out / "_export" / "_SUCCESS").exists()
        with repo.transaction() as tx:
            tx.append("node:A", [{"id": "a"}])
            exact = pa.array([1], pa.timestamp("ns"))  # which Spark cannot hold
            tx.append("node:B", pa.table({"id": ["b"], "t": exact}))
        for location in (out, tmp_path / "new"):
            with pytest.raises(InexactValue, match="'t' of node:B"):
                jobs.export(spark, repo.uri, str(location), overwrite=True)
            assert pq.read_table(location / "nodes" / "A").num_rows == 1
            assert not list(location.glob("_export/*"))
        with repo.transaction() as tx:
            tx.delete("node:B", ids=["b"])
        jobs.export(spark, repo.uri, str(out), overwrite=True)
        assert (out / "_export" / "_SUCCESS").exists()
        assert {row["table"]: row["rows"] for row in lines(out / "_export")}["node:A"] == 1


def test_what_no_file_can_hold(spark: SparkSession, tmp_path: Path, confs: Confs) -> None:
    """All of it is told before anything is written, with the setting that it hangs on."""
    empty = pa.struct([])
    alike = NodeType("Alike", {"name": pa.string(), "Name": pa.string(), "ID": pa.int64()})
    times = NodeType("Times", {"t": pa.time64("us"), "all": pa.list_(pa.time64("us"))})
    none = NodeType("None", {"none": empty, "in": pa.list_(pa.struct([("e", empty)]))})
    out = tmp_path / "out"
    with Repository.init(
        tmp_path / "repo", GraphSchema(nodes=[alike, times, none]), durability="none"
    ) as repo:
        with repo.transaction() as tx:
            tx.append("node:Times", [{"id": "1", "t": time(1, 2, 3, 456789)}])
            tx.append("node:Alike", [{"id": "1", "name": "a", "Name": "b", "ID": 5}])
        confs({"spark.sql.timeType.enabled": "false"})
        with pytest.raises(InvalidOptions) as raised:
            jobs.export(spark, repo.uri, str(out))
        places = [problem.partition(" is ")[0] for problem in raised.value.problems]
        assert places == [
            "'id' and 'ID' of node:Alike differ by case only, and spark.sql.caseSensitive",
            "'name' and 'Name' of node:Alike differ by case only, and spark.sql.caseSensitive",
            "'none' of node:None",
            "'in' of node:None",
            "'t' of node:Times",
            "'all' of node:Times",
        ]
        assert "spark.sql.timeType.enabled" in raised.value.problems[-1]
        assert not out.exists()
        confs({"spark.sql.timeType.enabled": "true", "spark.sql.caseSensitive": "true"})
        jobs.export(spark, repo.uri, str(out), tables=["node:Alike", "node:Times"])
        (row,) = pq.read_table(out / "nodes" / "Alike").to_pylist()
        assert row == {"id": "1", "name": "a", "Name": "b", "ID": 5}
        assert pq.read_table(out / "nodes" / "Times")["t"].to_pylist() == [time(1, 2, 3, 456789)]


def test_where_nothing_can_be_written(spark: SparkSession, tmp_path: Path) -> None:
    """It is an error of ours, with what Spark says and without its traces."""
    with made(tmp_path / "repo") as repo:
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(JobFailed, match=r"edge:Knows failed") as raised:
            jobs.export(spark, repo.uri, str(tmp_path / "file" / "out"))
        assert "\n" not in str(raised.value)
        with pytest.raises(JobFailed, match="nosuch"):
            jobs.export(spark, repo.uri, "nosuch://location")
        for blank in ("", "  "):
            with pytest.raises(InvalidOptions, match="out"):
                jobs.export(spark, repo.uri, blank)


def test_the_program_tells_it(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a line, with status 1; also where Spark fails before there is a job."""

    @contextmanager
    def failing(_: object) -> Iterator[SparkSession]:
        spark.range(1).write.json(str(tmp_path / "file" / "out"))
        yield spark

    with made(tmp_path / "repo") as repo:
        (tmp_path / "file").write_text("in the way")
        words = ["export", repo.uri, str(tmp_path / "file" / "out"), "--quiet"]
        assert run_job(words, lambda _: nullcontext(spark)) == 1
        assert capsys.readouterr().err.startswith("job_failed: Writing edge:Knows failed: ")
        assert run_job(words, failing) == 1
        told = capsys.readouterr().err
        assert told.startswith("Spark: Parent path is not a directory")
        assert told.count("\n") == 1


def test_texts(spark: SparkSession, tmp_path: Path) -> None:
    """JSON lines keep nulls, CSV has a header; types that a format lacks are told at once."""
    moment = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
    properties = {
        "price": pa.decimal128(10, 2),
        "at": pa.timestamp("us", "UTC"),
        "tags": pa.list_(pa.string()),
    }
    schema = GraphSchema(nodes=[NodeType("Ärger & Co", properties), NodeType("Plain")])
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        with repo.transaction() as tx:
            row = {"id": 'a,\n"b"', "price": Decimal("1.50"), "at": moment, "tags": ["x", None]}
            tx.append("node:Ärger & Co", [row, {"id": "n"}])
            tx.append("node:Plain", [{"id": 'p,"q"'}])
        report = jobs.export(spark, repo.uri, str(tmp_path / "json"), format="ndjson")
        path = Path(report.tables["node:Ärger & Co"].path)
        found = {each["id"]: each for each in lines(path)}
        assert found["n"] == {"id": "n", "price": None, "at": None, "tags": None}
        assert found['a,\n"b"']["price"] == 1.5
        assert found['a,\n"b"']["tags"] == ["x", None]
        jobs.export(spark, repo.uri, str(tmp_path / "csv"), tables=["node:Plain"], format="csv")
        (written,) = (tmp_path / "csv/nodes/Plain").glob("part-*")
        with written.open(newline="") as opened:
            assert list(csv.reader(opened)) == [["id"], ['p,"q"']]
        with pytest.raises(InvalidOptions, match="tags"):
            jobs.export(spark, repo.uri, str(tmp_path / "csv2"), format="csv")
        assert not (tmp_path / "csv2").exists()
        with pytest.raises(InvalidOptions, match="ndjson"):
            jobs.export(spark, repo.uri, str(tmp_path / "x"), format="json")
        with pytest.raises(UnknownTable):
            jobs.export(spark, repo.uri, str(tmp_path / "x"), tables=["node:Nobody"])
