"""``load`` and ``init --from``: files into tables, and types inferred from files."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_run import RunCommand

from omnigraph_l2 import Repository


def _rows(og: RunCommand, key: str, *more: str) -> list[dict[str, object]]:
    return sorted(og("cat", key, "--json", *more).lines, key=lambda row: str(row["id"]))


def test_several_files_of_several_tables_are_one_commit(graph: RunCommand, folder: Path) -> None:
    """CSV, Parquet and compressed NDJSON, nodes and the edges between them."""
    pq.write_table(
        pa.table({"id": ["c"], "name": ["Cid"], "age": pa.array([7], pa.int64())}), "p.parquet"
    )
    (folder / "p.ndjson.gz").write_bytes(gzip.compress(b'{"id": "d", "name": "Dan"}\n\n'))
    (folder / "k.csv").write_text("src,dst,id,since\nc,d,cd,2020-02-29\n")
    result = graph(
        "load", "node:Person", "p.parquet", "p.ndjson.gz", "edge:Knows", "k.csv",
        "--message", "more", "--actor", "ann", "--json",
    ).document  # fmt: skip
    assert (result["read"], result["loaded"], result["rejected"]) == (3, 3, 0)
    newest, first = graph("log", "--json", "--limit", "2").lines
    assert (newest["graph_commit_id"], newest["message"], newest["actor_id"]) == (
        result["commit_id"], "more", "ann",
    )  # fmt: skip
    assert first["message"] == "first load"
    assert _rows(graph, "edge:Knows")[1] == {
        "id": "cd",
        "src": "c",
        "dst": "d",
        "since": "2020-02-29",
    }
    assert [row["age"] for row in _rows(graph, "node:Person")] == [30, None, 7, None]


def test_an_upsert_keeps_missing_columns(graph: RunCommand, folder: Path) -> None:
    """Missing columns keep their values; rows that miss one of the others are rejected."""
    (folder / "u.ndjson").write_text(
        '{"id": "a", "name": "Ann"}\n'
        '{"id": "b", "name": "Bo", "age": 3}\n{"id": "b", "name": "Bea"}\n'
    )
    result = graph(
        "load", "node:Person", "u.ndjson", "--mode", "upsert", "--max-rejects", "1", "--json"
    ).document
    assert result["tables"]["node:Person"]["rejected"] == {"unfit": 1}
    assert _rows(graph, "node:Person") == [
        {"id": "a", "name": "Ann", "age": 30}, {"id": "b", "name": "Bea", "age": None},
    ]  # fmt: skip
    (folder / "v.csv").write_text("id,name,age\na,Anna,3\n")
    refused = graph(
        "load",
        "node:Person",
        "u.ndjson",
        "v.csv",
        "--mode",
        "upsert",
        "--max-rejects",
        "9",
        status=2,
    )
    assert "all files have the same" in refused.err


def test_overwriting_needs_a_confirmation(graph: RunCommand, folder: Path) -> None:
    """The rows that would be replaced are counted first."""
    (folder / "n.csv").write_text("id,name\na,Ann\nb,Bea\n")
    result = graph("load", "node:Person", "n.csv", "--mode", "overwrite", "--json", status=2)
    assert result.document == {
        "action": "replace",
        "done": False,
        "branch": "main",
        "rows": {"node:Person": 2},
    }
    assert len(_rows(graph, "node:Person")) == 2
    graph("load", "node:Person", "n.csv", "--mode", "overwrite", "--yes")
    assert [row["name"] for row in _rows(graph, "node:Person")] == ["Ann", "Bea"]


BAD = """id,name,age
c,Cid,1
d,,2
e,Eve,1e3
,Noname,4
"f","a ""quoted"", and
two lines",5
g,too,many,columns
"h","",
"""


def test_rows_that_do_not_fit_are_rejected_with_reasons(graph: RunCommand, folder: Path) -> None:
    """Each with its reason; all other rows are loaded."""
    (folder / "bad.csv").write_text(BAD)
    result = graph(
        "load",
        "node:Person",
        "bad.csv",
        "--rejects",
        "bad.ndjson",
        "--max-rejects",
        "60%",
        "--json",
    ).document
    counts = result["tables"]["node:Person"]
    assert counts["rejected"] == {"null": 1, "unfit": 1, "no_id": 1, "malformed": 1}
    assert counts["read"] == counts["loaded"] + 4 == 7
    aside = [json.loads(line) for line in (folder / "bad.ndjson").read_text().splitlines()]
    assert {each["reason"]: each.get("row", each.get("line")) for each in aside} == {
        "null": {"id": "d", "name": None, "age": "2"},
        "unfit": {"id": "e", "name": "Eve", "age": "1e3"},
        "no_id": {"id": None, "name": "Noname", "age": "4"},
        "malformed": "g,too,many,columns",
    }
    assert all(each["table"] == "node:Person" and each["file"] == "bad.csv" for each in aside)
    rows = {row["id"]: row["name"] for row in _rows(graph, "node:Person")}
    assert rows["f"] == 'a "quoted", and\ntwo lines'
    assert rows["h"] == ""


def test_too_many_rejects_publish_nothing(graph: RunCommand, folder: Path) -> None:
    """A number is checked at once, a share at the end; the rejected rows are in the file."""
    (folder / "bad.csv").write_text(BAD)
    for allowed in ("3", "10%"):
        name = f"{allowed}.ndjson"
        failed = graph(
            "load",
            "node:Person",
            "bad.csv",
            "--max-rejects",
            allowed,
            "--rejects",
            name,
            "--json",
            status=2,
        )
        assert json.loads(failed.err)["error"]["kind"] == "too_many_rejects"
        assert failed.out == ""
        assert len((folder / name).read_text().splitlines()) == 4
    assert len(_rows(graph, "node:Person")) == 2
    failed = graph("load", "node:Person", "bad.csv", status=2)
    assert "bad.csv, row 2: null: 'name'" in failed.err


def test_a_rejects_file_is_not_written_over(graph: RunCommand, folder: Path) -> None:
    """Without rejected rows, no file is left."""
    graph("load", "node:Person", "people.csv", "--mode", "upsert", "--rejects", "none.ndjson")
    assert not (folder / "none.ndjson").exists()
    (folder / "mine.txt").write_text("mine")
    graph(
        "load", "node:Person", "people.csv", "--mode", "upsert", "--rejects", "mine.txt", status=2
    )
    assert (folder / "mine.txt").read_text() == "mine"


def test_the_same_operation_is_done_once(graph: RunCommand, folder: Path) -> None:
    """The repeated operation reads no file."""
    (folder / "once.csv").write_text("id,name\nx,X\n")
    first = graph(
        "load", "node:Person", "once.csv", "--operation-hash", "monday", "--json"
    ).document
    (folder / "once.csv").unlink()
    again = graph(
        "load", "node:Person", "once.csv", "--operation-hash", "monday", "--json"
    ).document
    assert again["repeated"]
    assert again["commit_id"] == first["commit_id"]


def test_many_bad_rows_among_many_good_ones(graph: RunCommand, folder: Path) -> None:
    """All are found, wherever they are in the file."""
    lines = [
        json.dumps({"id": f"n{index}", "name": "x", "age": "x" if index % 997 == 0 else index})
        for index in range(20_000)
    ]
    (folder / "many.ndjson").write_text("\n".join(lines))
    result = graph("load", "node:Person", "many.ndjson", "--max-rejects", "21", "--json").document
    assert (result["loaded"], result["rejected"]) == (20_000 - 21, 21)
    ids = {row["id"] for row in graph("cat", "node:Person", "--json", "--columns", "id").lines}
    assert ids == {"a", "b", *(f"n{index}" for index in range(20_000) if index % 997)}


def test_standard_input_is_a_file(graph: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its format has to be specified."""

    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(b'{"id": "i", "name": "Ina"}\n'))  # type: ignore[arg-type]

    graph("load", "node:Person", "-", status=2)
    monkeypatch.setattr(sys, "stdin", Stdin)
    graph("load", "node:Person", "-", "--format", "ndjson")
    assert len(_rows(graph, "node:Person")) == 3


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["people.csv"], "No table for people.csv"),
        (["node:Person"], "No files for node:Person"),
        (["node:Persn", "people.csv"], "unknown_table"),
        (["node:Person", "people.txt"], "Unknown format of people.txt"),
        (["node:Person", "gone.csv"], "Cannot read gone.csv"),
        (["node:Person", "people.csv"], "duplicate_ids"),
        (["edge:Knows", "dangling.ndjson"], "dangling_edges"),
        (["node:Person", "extra.csv"], "is in extra.csv, but is no column"),
        (["node:Person", "empty.csv"], "is empty"),
        (["node:Person", "people.csv", "--format", "parquet"], "Cannot read people.csv as parquet"),
        (["node:Person", "people.csv", "--max-rejects", "many"], "--max-rejects"),
    ],
)  # fmt: skip
def test_an_invalid_load_is_reported(
    graph: RunCommand, folder: Path, arguments: list[str], problem: str
) -> None:
    """Nothing is published, and the exit status means invalid usage."""
    (folder / "dangling.ndjson").write_text('{"id": "az", "src": "a", "dst": "z"}')
    (folder / "extra.csv").write_text("id,name,nmae\nx,X,X\n")
    (folder / "empty.csv").write_text("")
    (folder / "people.txt").write_text("")
    failed = graph("load", *arguments, status=1 if problem == "unknown_table" else 2)
    assert problem in failed.err
    assert len(graph("log", "--json").lines) == 2


def test_types_are_inferred_from_data(og: RunCommand, folder: Path) -> None:
    """The narrowest types that hold every value; edge endpoints by their ids."""
    (folder / "Person.csv").write_text(
        "id,age,zip,born,ok,score,note\n1,30,0123,2001-02-03,true,1,\n2,,4000,,false,2.5,\n"
    )
    (folder / "towns.ndjson").write_text(
        '{"id": "O", "size": 1}\n{"id": "B", "size": 2.5, "at": {"lat": 1.5}, "tags": ["x"]}\n'
    )
    (folder / "LivesIn.csv").write_text("id,src,dst,since\nx,1,O,2020-01-01T10:00:00\n")
    shown = og(
        "init",
        "g",
        "--from",
        "Person.csv",
        "node:Town",
        "towns.ndjson",
        "edge:LivesIn",
        "LivesIn.csv",
        "--json",
    )
    types = {
        each["table_key"]: {name: said["type"] for name, said in each["properties"].items()}
        for each in shown.document["tables"]
    }
    assert types == {
        "node:Person": {
            "age": "int64", "zip": "string", "born": "date32[day]", "ok": "bool",
            "score": "double", "note": "string",
        },
        "node:Town": {"size": "double", "at": "struct<lat: double>", "tags": "list<item: string>"},
        "edge:LivesIn": {"since": "timestamp[us]"},
    }  # fmt: skip
    arguments = ("init", "--from", "Person.csv", "--dry-run")
    assert "inferred from 2 rows of Person.csv" in og(*arguments).err
    with Repository.open("g") as repo:
        edge = repo.snapshot().schema.edges[0]
        assert (edge.source, edge.target) == ("Person", "Town")
    og(
        "load",
        "--repo",
        "g",
        "node:Person",
        "Person.csv",
        "node:Town",
        "towns.ndjson",
        "edge:LivesIn",
        "LivesIn.csv",
    )


def test_ambiguous_types_are_reported(og: RunCommand, folder: Path) -> None:
    """Endpoints that several node types match, and columns of several kinds."""
    (folder / "A.csv").write_text("id\n1\n")
    (folder / "B.csv").write_text("id\n1\n")
    (folder / "E.csv").write_text("id,src,dst\nx,1,1\n")
    assert "A and B" in og("init", "g", "--from", "A.csv", "B.csv", "E.csv", status=2).err
    (folder / "M.ndjson").write_text('{"id": "1", "x": 1}\n{"id": "2", "x": "y"}\n')
    assert "several kinds" in og("init", "g", "--from", "M.ndjson", status=2).err
    assert not (folder / "g").exists()
