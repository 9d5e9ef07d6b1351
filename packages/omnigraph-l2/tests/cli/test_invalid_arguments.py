"""Invalid arguments: one message, its exit status, and with ``--json`` only JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_run import RunCommand

_HUGE = "9" * 30


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["cat", "node:Person", "--columns", ","], "Invalid --columns"),
        (["cat", "node:Person", "--out", "n" * 300 + ".csv"], "File name too long"),
        (["diff", "1", "--rows", "--limit", "-1"], "Invalid --limit -1"),
        (["cleanup", "--older-than", "999999999999999w"], "expected at most 365000 days"),
        (["cleanup", "--older-than", "900000d"], "expected at most 365000 days"),
        (["schema", "--toml", "--json"], "either --toml or --json"),
        (["info", "about", "it"], "unexpected argument: 'about it'"),
        (["explore", "--out", "."], "is not a page"),
        (["explore", "--out", "people.csv"], "is not a page"),
        (["explore", "--out", "link.html"], "is not a page"),
        (["explore", "--out", "n" * 300 + ".html"], "File name too long"),
        (["explore", "--out", "p.html", "--rows", "-1"], "from 1 to 500"),
        (["explore", "--port", "70000"], "70000"),
        (["explore", "--out", "missing/p.html"], "missing/p.html"),
        (["explore", "nowhere"], "repository_not_found"),
        (["optimize", "--table", "node:Persn"], "unknown_table"),
        (["tables", "--json=true", "--repo", "nowhere"], "repository_not_found"),
    ],
)  # fmt: skip
def test_invalid_arguments_are_reported(
    graph: RunCommand, folder: Path, arguments: list[str], problem: str
) -> None:
    """As text, and as one document without other output."""
    (folder / "link.html").symlink_to("nowhere")
    before = (folder / "people.csv").read_bytes()
    status = 1 if problem in {"unknown_table", "repository_not_found"} else 2
    asks = any(each.startswith("--json") for each in arguments)
    for words in (arguments, arguments if asks else [*arguments, "--json"]):
        failed = graph(*words, status=status)
        assert problem in failed.err
        assert failed.out == ""
        if asks or words is not arguments:
            assert json.loads(failed.err)["error"]["kind"] != "bug"
    assert (folder / "people.csv").read_bytes() == before


def test_a_limit_may_be_any_number(graph: RunCommand) -> None:
    """Even if it exceeds 64 bits."""
    assert len(graph("cat", "node:Person", "--limit", _HUGE).lines) == 2
    assert len(graph("diff", "1", "--rows", "--json", "--limit", _HUGE).lines) == 3


def test_a_dash_is_a_file_only_where_files_stand(graph: RunCommand, folder: Path) -> None:
    """As the value of an option it is taken literally, or rejected."""
    (folder / "c.csv").write_text("id,name\nc,Cid\n")
    assert "--message" in graph("load", "node:Person", "c.csv", "--message", "-", status=2).err
    graph("load", "node:Person", "c.csv", "--message=-")
    assert graph("log", "--json").lines[0]["message"] == "-"
    (folder / "-").write_text("mine")
    refused = graph("load", "node:Person", "c.csv", "--json", "-", status=2)
    assert "Unknown format of standard input" in json.loads(refused.err)["error"]["message"]


def test_with_json_there_is_nothing_but_json(graph: RunCommand, folder: Path) -> None:
    """Also if a file is written, and if a merge has conflicts."""
    result = graph("cat", "node:Person", "--out", "p.csv", "--json")
    assert (result.document, result.err) == ({"file": "p.csv", "rows": 2}, "")
    result = graph("explore", "--out", "p.html", "--json")
    size = (folder / "p.html").stat().st_size
    assert result.document == {"file": "p.html", "bytes": size}
    assert result.err == ""
    assert graph("optimize", "--json").err == ""
    graph("branch", "create", "side")
    for name, branch in (("S", "side"), ("M", "main")):
        (folder / "c.csv").write_text(f"id,name,age\na,{name},1\n")
        graph("load", "node:Person", "c.csv", "--mode", "upsert", "--branch", branch)
    result = graph("merge", "side", "--json", status=4)
    assert result.err == ""
    assert (result.document["source"], result.document["into"]) == ("side", "main")


def test_a_page_is_replaced_and_nothing_else(graph: RunCommand, folder: Path) -> None:
    """An existing page is written again."""
    graph("explore", "--out", "p.html")
    before = (folder / "p.html").stat().st_ino
    graph("explore", "--out", "p.html")
    assert (folder / "p.html").stat().st_ino != before


def test_a_deleted_current_folder_is_reported(
    graph: RunCommand, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current folder of the command."""
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "Cannot read the current folder" in graph("tables", status=2).err
