"""A mapping says what a person means, or everything that is wrong with it at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from omnigraph_spark._jobs.load.load_mapping import (
    ColumnName,
    Expression,
    RejectLimit,
    SortKey,
    Template,
)
from omnigraph_spark._jobs.load.mapping_parser import parse_mapping, parse_max_rejects, read_mapping
from omnigraph_spark._jobs.load.mapping_syntax import guess_format, parse_source
from omnigraph_spark._jobs.load.source_files import paths_of
from omnigraph_spark.errors import InvalidMapping
from omnigraph_spark.jobs import LoadedTable, LoadReport, load

NO_SESSION: Any = None
"""A mapping is read before anything else."""
NODE: dict[str, Any] = {"table": "node:Package", "files": "packages.csv"}
EDGE: dict[str, Any] = {"table": "edge:DependsOn", "files": ["a.ndjson", "b.jsonl.gz"]}
_FULL = """
max_rejects = "1.5%"

[[tables]]
table = "node:Package"
files = ["packages/*.parquet"]
options = { mergeSchema = false, n = 3 }
mode = "upsert"
id = "{name}@{{{architecture}}}"
duplicates = "first"
order_by = "version desc, name"
where = "x > 1"
[tables.columns]
name = "Package"
installed_size = { expr = "cast(`Installed-Size` as bigint)" }

[[tables]]
table = "edge:DependsOn"
files = "depends"
format = "csv"
schema = "a string, b string"
src = "{package}"
dst = "dependency"
missing_ends = "fail"
"""


def test_what_is_said_is_read(tmp_path: Path) -> None:
    """A file in TOML, whose folder is where its files are; nothing is lost or added."""
    (tmp_path / "map.toml").write_text(_FULL)
    found, folder = read_mapping(tmp_path / "map.toml")
    node, edge = found.tables
    assert folder == str(tmp_path)
    assert found.max_rejects == RejectLimit(share=0.015)
    assert (node.table, node.format, node.mode) == ("node:Package", "parquet", "upsert")
    assert node.options == {"mergeSchema": "false", "n": "3"}
    assert node.id == Template((ColumnName("name"), "@", "{", ColumnName("architecture"), "}"))
    assert node.order_by == (SortKey("version", descending=True), SortKey("name", descending=False))
    assert node.columns == {
        "name": ColumnName("Package"),
        "installed_size": Expression("cast(`Installed-Size` as bigint)"),
    }
    assert node.missing_ends is None
    assert (edge.format, edge.schema, edge.missing_ends) == ("csv", "a string, b string", "fail")
    assert (edge.src, edge.dst) == (Template((ColumnName("package"),)), ColumnName("dependency"))


def test_what_is_not_said_has_a_default() -> None:
    """The file's name tells the format; rows are appended, and none may be rejected."""
    found = parse_mapping({"tables": [NODE, EDGE]})
    node, edge = found.tables
    assert (node.format, edge.format) == ("csv", "ndjson")
    assert (node.mode, node.duplicates, edge.missing_ends) == ("append", "reject", "reject")
    assert found.max_rejects.of(1_000_000) == 0


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, ["tables is missing"]),
    "no list": ({"tables": "x"}, ["tables should be a list", "found 'x'"]),
    "no table": ({"tables": [3]}, ["tables[0] should be a table of TOML, found 3"]),
    "an unknown key at the top": ({"tables": [NODE], "max_reject": 1}, ["'max_rejects'?"]),
    "a share": ({"tables": [NODE], "max_rejects": "101%"}, ["max_rejects", "found '101%'"]),
    "a negative number": ({"tables": [NODE], "max_rejects": -1}, ["max_rejects", "found -1"]),
    "a truth for a number": ({"tables": [NODE], "max_rejects": True}, ["found True"]),
    "no table key": ({"tables": [{"files": "a.csv"}]}, ["tables[0].table is missing"]),
    "no files": ({"tables": [{"table": "node:X"}]}, ["tables[0].files is missing"]),
    "empty files": ({"tables": [{**NODE, "files": []}]}, ["tables[0].files should be", "[]"]),
    "a number for files": ({"tables": [{**NODE, "files": 3}]}, ["files should be", "found 3"]),
    "an unknown key": ({"tables": [{**NODE, "colums": {}}]}, ["colums is not known", "'columns'?"]),
    "a mode": ({"tables": [{**NODE, "mode": "upsrt"}]}, ["found 'upsrt'", "'upsert'?"]),
    "a format": ({"tables": [{**NODE, "format": "jsonn"}]}, ["found 'jsonn'", "'ndjson'?"]),
    "no format": ({"tables": [{**NODE, "files": "x"}]}, ["format should be one of parquet, csv"]),
    "two formats": ({"tables": [{**NODE, "files": ["a.csv", "b.json"]}]}, ["do not determine it"]),
    "ends of a node": (
        {"tables": [{**NODE, "src": "a", "missing_ends": "fail"}]},
        ["src is for edges only", "missing_ends is for edges only"],
    ),
    "an id among columns": (
        {"tables": [{**NODE, "columns": {"id": "a"}}]}, ["columns.id is no property: set id"],
    ),
    "a column": ({"tables": [{**NODE, "columns": {"a": 3}}]}, ["columns.a should be", "found 3"]),
    "an expression": (
        {"tables": [{**NODE, "columns": {"a": {"sql": "x"}}}]}, ["columns.a", "{ expr = "],
    ),
    "half a brace": ({"tables": [{**NODE, "id": "{a"}]}, ["id should", "without its other half"]),
    "an empty brace": ({"tables": [{**NODE, "id": "{a}{}"}]}, ["no name between { and }"]),
    "a template of nothing": ({"tables": [{**NODE, "id": "{{a}}"}]}, ["has no name in it"]),
    "first of what": (
        {"tables": [{**NODE, "duplicates": "first"}]}, ["order_by and duplicates = 'first' need"],
    ),
    "an order for nothing": ({"tables": [{**NODE, "order_by": "a"}]}, ["need each other"]),
    "options": ({"tables": [{**NODE, "options": {"a": []}}]}, ["options should be"]),
    "a table twice": (
        {"tables": [NODE, EDGE, NODE]}, ["tables[0] and tables[2] are both about 'node:Package'"],
    ),
    "several": (
        {"tables": [{"table": "", "files": "x.csv", "mode": 1}, {"x": 1}]},
        ["tables[0].table", "tables[0].mode", "tables[1].x is", "tables[1].table is missing",
         "tables[1].files is missing"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "words"), WRONG.values(), ids=WRONG)
def test_everything_that_is_wrong_is_told_at_once(given: dict[str, Any], words: list[str]) -> None:
    """Each problem with its location, what is expected, and what was found."""
    with pytest.raises(InvalidMapping) as caught:
        load(NO_SESSION, "no graph", given)
    for each in words:
        assert each in str(caught.value)
    assert len(caught.value.problems) <= max(len(words), 1)


@pytest.mark.parametrize("text", ["[[tables", "tables = \xe9"])
def test_a_file_that_is_no_toml(tmp_path: Path, text: str) -> None:
    """It is told with its name, and so is a file that is not there."""
    path = tmp_path / "map.toml"
    path.write_text(text, "latin-1")
    for each in (path, tmp_path / "other.toml"):
        with pytest.raises(InvalidMapping, match=each.name):
            load(NO_SESSION, "no graph", each)


def test_the_small_languages() -> None:
    """Ends of files, shares, templates."""
    assert [guess_format(each) for each in ("a.PQ", "b.csv.GZ", "c.tsv", "d.jsonl", "e.txt")] == [
        "parquet", "csv", "csv", "ndjson", None,
    ]  # fmt: skip
    assert parse_max_rejects("7") == parse_max_rejects(7) == RejectLimit(7)
    assert parse_max_rejects("25 %").of(10) == 2
    assert parse_source("{{x}}{y}") == Template(("{", "x", "}", ColumnName("y")))
    with pytest.raises(InvalidMapping, match="max_rejects should be"):
        load(NO_SESSION, "no graph", {"tables": [NODE]}, max_rejects="few")


def test_files_are_relative_to_a_folder() -> None:
    """But for those that have a root, or say in which store they are."""
    files = ["a/*.csv", "/b.csv", "s3a://bucket/c.csv", "file:/d.csv"]
    table = parse_mapping({"tables": [{**NODE, "files": files}]}).tables[0]
    assert paths_of(table, "s3a://x/") == ["s3a://x/a/*.csv", *files[1:]]


def test_a_report_is_told_in_lines() -> None:
    """Counts by table and reason, and where rejected rows are."""
    table = LoadedTable(
        table_key="node:A", mode="append", read=4, loaded=1, rejected={"null": 2},
        left_out={"where": 1},
    )  # fmt: skip
    report = LoadReport(
        uri="x", branch="main", commit_id="C", repeated=False, tables={"node:A": table},
        rejects="aside", seconds=1.0,
    )  # fmt: skip
    assert (report.read, report.loaded, report.rejected) == (4, 1, 2)
    assert str(report).splitlines() == [
        "1 of 4 rows loaded into main, 2 rejected, in 1.0 s: commit C",
        "  node:A: 1 of 4 rows loaded (append); rejected: 2 null; left out: 1 where",
        "  the rejected rows are in aside",
    ]
