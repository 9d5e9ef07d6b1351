"""Files become nodes and edges in one publish; what does not fit is set aside with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import DanglingEdges
from omnigraph_spark._jobs.load.id_comparisons import find_repeated
from omnigraph_spark._jobs.load.mapping_parser import parse_mapping
from omnigraph_spark._jobs.load.mapping_resolver import resolve_mapping
from omnigraph_spark._jobs.load.row_validation import (
    IdSet,
    ValidatedRows,
    resolve_duplicates,
    validate_rows,
)
from omnigraph_spark._jobs.load.source_files import open_source
from omnigraph_spark.errors import InvalidMapping, LoadFailed, TooManyRejects
from omnigraph_spark.jobs import load

pytestmark = pytest.mark.spark

PACKAGE, MAINTAINER, DEPENDS = "node:Package", "node:Maintainer", "edge:DependsOn"
SCHEMA = GraphSchema(
    nodes=[
        NodeType("Package", {"name": pa.string(), "size": pa.int32()}, required=("name",)),
        NodeType("Maintainer", {"since": pa.date32()}),
    ],
    edges=[EdgeType("DependsOn", "Package", "Package", {"kind": pa.string()})],
)
PACKAGES = '''Package,Arch,Size
bash,amd64,100
"cat ""o""",amd64,
dash,amd64,1e3
,amd64,4
echo,amd64
find,amd64,3000000000
'''
EDGES = """{"from": "bash", "to": "cat \\"o\\"", "kind": "needs"}
{"from": "bash", "to": "old"}
{"from": "bash", "to": "dash"}
{"from": null, "to": "bash"}
{"from": "bash"

"""
MAPPING = """
max_rejects = 7
[[tables]]
table = "edge:DependsOn"
files = ["edges.ndjson"]
src = "from"
dst = "{to}"
[[tables]]
table = "node:Package"
files = ["*.csv"]
id = "{name}"
columns = { name = "Package", size = "Size" }
[[tables]]
table = "node:Maintainer"
files = "m.parquet"
where = "n > 0"
duplicates = "same"
"""
_Saying = Callable[[str], None]


@pytest.fixture
def location(tmp_path: Path) -> Path:
    """Files in three formats, a mapping, and a graph with one package."""
    (tmp_path / "packages.csv").write_text(PACKAGES)
    (tmp_path / "edges.ndjson").write_text(EDGES)
    rows = [("ann", 1), ("bob", 0), ("ann", 2), ("cid", 1)]
    table = {"id": [name for name, _ in rows], "n": [n for _, n in rows]}
    pq.write_table(pa.table(table), tmp_path / "m.parquet")
    (tmp_path / "map.toml").write_text(MAPPING)
    return tmp_path


@pytest.fixture
def repo(location: Path) -> Iterator[Repository]:
    """A graph with one package."""
    with Repository.init(location / "repo", SCHEMA, durability="none") as made:
        with made.transaction() as tx:
            tx.append(PACKAGE, [{"id": "old", "name": "old"}, {"id": "x", "name": "x"}])
            tx.append(DEPENDS, [{"id": "e", "src": "x", "dst": "old"}])
        yield made


def _rows(repo: Repository, key: str) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in repo.snapshot().read(key).to_pylist()}


def _rejects(folder: str | Path) -> list[dict[str, Any]]:
    files = Path(folder).glob("**/*.json")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_three_formats_one_publish(spark: SparkSession, location: Path, repo: Repository) -> None:
    """Good rows are there, the others are set aside; again under its name, nothing is done.

    Where too many are rejected, nothing is published, and what is set aside is not mixed.
    """
    _too_many(spark, location, repo)
    said: list[str] = []
    named = {"operation_hash": "first", "rejects": str(location / "aside"), "progress": said.append}
    report = load(spark, repo.uri, location / "map.toml", actor="ann", message="all", **named)

    commit = repo.log(limit=1)[0]
    assert report.commit_id == commit.graph_commit_id
    assert (commit.actor_id, commit.message) == ("ann", "all")
    assert _rows(repo, PACKAGE).keys() == {"old", "x", "bash", 'cat "o"'}
    assert _rows(repo, PACKAGE)["bash"] == {"id": "bash", "name": "bash", "size": 100}
    assert _rows(repo, MAINTAINER).keys() == {"ann", "cid"}
    ends = {(row["src"], row["dst"], row["kind"]) for row in _rows(repo, DEPENDS).values()}
    assert ends == {("x", "old", None), ("bash", 'cat "o"', "needs"), ("bash", "old", None)}

    told = {key: (each.read, each.loaded, dict(each.rejected), dict(each.left_out))
            for key, each in report.tables.items()}  # fmt: skip
    assert told == {
        PACKAGE: (6, 2, {"malformed": 1, "no_id": 1, "unfit": 2}, {}),
        MAINTAINER: (4, 2, {}, {"same": 1, "where": 1}),
        DEPENDS: (5, 2, {"malformed": 1, "missing_end": 1, "no_end": 1}, {}),
    }
    _check_aside(report.rejects)
    assert len(_rejects(location / "aside")) == 14
    assert any("6 rows read" in line for line in said)
    assert any("not loaded: Arch" in line for line in said)

    for each in ("packages.csv", "edges.ndjson", "m.parquet"):
        (location / each).unlink()
    again = load(spark, repo.uri, location / "map.toml", **named)
    assert (again.repeated, again.commit_id, again.read) == (True, report.commit_id, 0)
    assert repo.log(limit=1)[0] == commit


def _check_aside(folder: str | None) -> None:
    assert folder is not None
    found = {(row["table"], row["reason"]): row for row in _rejects(folder)}
    assert len(_rejects(folder)) == 7
    number = found[PACKAGE, "no_id"]
    assert number["row"] == {"Package": None, "Arch": "amd64", "Size": "4"}
    assert number["detail"] == "'id' has no value; 'name' is required, and has no value"
    assert number["file"].endswith("packages.csv")
    assert "found '" in found[PACKAGE, "unfit"]["detail"]
    assert found[PACKAGE, "malformed"]["line"] == "echo,amd64"
    assert found[DEPENDS, "malformed"]["line"] == '{"from": "bash"'
    assert found[DEPENDS, "no_end"]["detail"].startswith("'src' has no value")
    lost = found[DEPENDS, "missing_end"]["detail"]
    assert lost == "dst is 'dash', and there is no such node:Package"


def _too_many(spark: SparkSession, location: Path, repo: Repository) -> None:
    before = repo.snapshot().version
    aside = str(location / "aside")
    with pytest.raises(TooManyRejects) as caught:
        load(spark, repo.uri, location / "map.toml", rejects=aside, max_rejects="40%")
    error = caught.value
    assert (error.read, error.rejected) == (15, 7)
    assert "node:Package: 1 malformed, 1 no_id, 2 unfit" in error.counts
    assert error.folder is not None
    assert len(_rejects(error.folder)) == 7
    assert repo.snapshot().version == before


def _dict(*tables: dict[str, Any]) -> dict[str, Any]:
    return {"tables": list(tables), "max_rejects": 9}


def test_modes_and_duplicates(spark: SparkSession, location: Path, repo: Repository) -> None:
    """An upsert keeps what is not given; the first by an order is taken; edges see what is left."""
    (location / "p.ndjson").write_text(
        '{"id": "old", "name": "new", "v": 1}\n{"id": "n", "name": "n1", "v": 9}\n'
        '{"id": "n", "name": "n2", "v": 10}\n{"id": "n", "name": "n3", "v": null}\n'
    )
    (location / "m.csv").write_text("id,since\na,2020-01-31\nb,\na,2020-01-30\nc,x\n")
    (location / "e.tsv").write_text(
        "id\tsrc\tdst\nf\tn\told\ng\tn\tnobody\ng\tn\tx\nh\tx\tn\nh\tx\tn\n"
    )
    report = load(
        spark, repo.uri, base=str(location), progress=None, mapping=_dict(
            {"table": PACKAGE, "files": "p.ndjson", "mode": "upsert", "duplicates": "first",
             "order_by": "v desc", "schema": "id string, name string, v int"},
            {"table": MAINTAINER, "files": "m.csv", "mode": "overwrite"},
            {"table": DEPENDS, "files": "e.tsv", "mode": "overwrite", "duplicates": "same"},
        ),
    )  # fmt: skip
    assert _rows(repo, PACKAGE) == {
        "old": {"id": "old", "name": "new", "size": None},
        "x": {"id": "x", "name": "x", "size": None},
        "n": {"id": "n", "name": "n2", "size": None},
    }
    assert _rows(repo, MAINTAINER).keys() == {"b"}
    assert _rows(repo, DEPENDS).keys() == {"f", "g", "h"}
    assert report.tables[PACKAGE].left_out == {"not_first": 2}
    assert report.tables[MAINTAINER].rejected == {"duplicate": 2, "unfit": 1}
    assert report.tables[DEPENDS].left_out == {"same": 1}
    assert report.tables[DEPENDS].rejected == {"missing_end": 1}
    assert report.rejects is None


def test_appending_what_is_there(spark: SparkSession, location: Path, repo: Repository) -> None:
    """It is rejected; and where nothing is left, nothing is published. Ends can be insisted on."""
    (location / "p.csv").write_text("id,name\nold,again\n")
    (location / "e.csv").write_text("src,dst\nold,nobody\n")
    before = repo.snapshot().version
    mapping = _dict({"table": PACKAGE, "files": "p.csv"})
    report = load(spark, repo.uri, mapping, base=str(location))
    assert report.tables[PACKAGE].rejected == {"exists": 1}
    assert _rows(repo, PACKAGE)["old"]["name"] == "old"
    mapping = _dict({"table": DEPENDS, "files": "e.csv", "missing_ends": "fail"})
    with pytest.raises(DanglingEdges, match="nobody"):
        load(spark, repo.uri, mapping, base=str(location))
    assert _rows(repo, DEPENDS).keys() == {"e"}
    assert repo.snapshot().version - before <= 1


def test_a_mapping_that_does_not_fit(spark: SparkSession, location: Path, repo: Repository) -> None:
    """All problems of all tables at once, before any row is read."""
    mapping = _dict(
        {"table": "node:Pakage", "files": "packages.csv"},
        {"table": PACKAGE, "files": "packages.csv", "id": "{Pakage}-{name}", "where": "Size",
         "columns": {"size": {"expr": "Siz + 1"}, "nam": "Package"}},
        {"table": MAINTAINER, "files": "nothing.csv"},
        {"table": DEPENDS, "files": "edges.ndjson", "dst": {"expr": "uuid()"}, "id": "kinds",
         "duplicates": "first", "order_by": "version"},
    )  # fmt: skip
    with pytest.raises(InvalidMapping) as caught:
        load(spark, repo.uri, mapping, base=str(location))
    told = "\n".join(caught.value.problems)
    for words in (
        "tables[0].table 'node:Pakage' is not in the graph (did you mean 'node:Package'?)",
        "tables[1].columns.nam is no property of it (did you mean 'name'?)",
        "tables[1].columns.name is missing: 'name' is required",
        "tables[1].columns.size cannot be used: [UNRESOLVED_COLUMN",
        "tables[1].id names 'Pakage' (did you mean 'Package'?)",
        "tables[1].where should be a condition, found string",
        "tables[2].files cannot be read: [PATH_NOT_FOUND]",
        "tables[3].src names 'src'; there is",
        "tables[3].dst cannot be used: [AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC",
        "tables[3].id names 'kinds' (did you mean 'kind'?)",
        "tables[3].order_by names 'version'; there is",
    ):
        assert words in told
    assert len(caught.value.problems) == 11


def test_what_spark_cannot_do_is_told(
    spark: SparkSession, location: Path, repo: Repository
) -> None:
    """An expression that raises, and CSV files with other columns; nothing is published."""
    before = repo.snapshot().version
    sized = {"name": "Package", "size": {"expr": "cast(Size as int)"}}
    mapping = _dict({"table": PACKAGE, "files": "packages.csv", "id": "{name}", "columns": sized})
    with pytest.raises(LoadFailed, match=r"CAST_INVALID_INPUT.*try_"):
        load(spark, repo.uri, mapping, base=str(location))
    (location / "b.csv").write_text("Size,Package,Arch\n1,zip,amd64\n")
    columns = {"name": "Package", "size": "Size"}
    mapping = _dict({"table": PACKAGE, "files": "*.csv", "id": "{name}", "columns": columns})
    with pytest.raises(LoadFailed, match=r"header does not conform.*b\.csv"):
        load(spark, repo.uri, mapping, base=str(location))
    assert repo.snapshot().version == before


def test_what_does_not_add_up_is_not_published(
    spark: SparkSession, location: Path, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where fewer rows are written than were good, the load fails."""
    (location / "m.csv").write_text("id\na\nb\n")
    whole = ValidatedRows.good.fget
    assert whole is not None
    monkeypatch.setattr(ValidatedRows, "good", property(lambda rows: whole(rows).limit(1)))
    with pytest.raises(LoadFailed, match="2 rows are good, and written were 1"):
        load(spark, repo.uri, _dict({"table": MAINTAINER, "files": "m.csv"}), base=str(location))
    assert _rows(repo, MAINTAINER) == {}


def test_numbers_of_ndjson_keep_their_digits(spark: SparkSession, tmp_path: Path) -> None:
    """They are text until they are compared with what the table wants, in lists, too."""
    (tmp_path / "a.json").write_text('{"n": 12345678901234567890.10, "l": [1.50], "b": true}\n')
    table = parse_mapping({"tables": [{"table": PACKAGE, "files": "a.json"}]}).tables[0]
    source = open_source(spark, table, str(tmp_path))
    row = source.frame.select(source.row.alias("row")).collect()[0].row.asDict()
    assert row == {"n": "12345678901234567890.10", "l": ["1.50"], "b": "true"}


def test_which_row_is_the_first_is_not_where_it_stands(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that the order does not tell apart are told apart by their values."""
    rows = [f"n,{name},1\n" for name in ("c", "a", "b", "d")]
    found = []
    for number, listed in enumerate((rows, rows[::-1])):
        (tmp_path / f"{number}.csv").write_text("".join(["id,name,v\n", *listed]))
        given = {"table": PACKAGE, "files": f"{number}.csv", "order_by": "v"}
        mapping = parse_mapping({"tables": [{**given, "duplicates": "first"}]})
        good = validate_rows(resolve_mapping(spark, mapping, SCHEMA, str(tmp_path))[0])
        one = resolve_duplicates(good, IdSet(find_repeated(good.good), 1))
        found.append([row.name for row in one.good.collect()])
    assert found[0] == found[1]
    assert len(found[0]) == 1
