"""Words that make little sense: one message, its exit status, and with ``--json`` only JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from program_runs import Og

_HUGE = "9" * 30


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["cat", "node:Person", "--columns", ","], "--columns names none"),
        (["cat", "node:Person", "--out", "n" * 300 + ".csv"], "File name too long"),
        (["diff", "1", "--rows", "--limit", "-1"], "--limit is a number from 0"),
        (["cleanup", "--older-than", "999999999999999w"], "is too long"),
        (["cleanup", "--older-than", "900000d"], "is too long"),
        (["schema", "--toml", "--json"], "either --toml or --json"),
        (["info", "about", "it"], "nothing takes 'about it'"),
        (["explore", "--out", "."], "something else is there"),
        (["explore", "--out", "people.csv"], "something else is there"),
        (["explore", "--out", "link.html"], "something else is there"),
        (["explore", "--out", "n" * 300 + ".html"], "File name too long"),
        (["explore", "--out", "p.html", "--rows", "-1"], "1 to 500 rows"),
        (["optimize", "--table", "node:Persn"], "unknown_table"),
        (["tables", "--json=true", "--repo", "nowhere"], "repository_not_found"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_told(graph: Og, folder: Path, typed: list[str], told: str) -> None:
    """In words; and as one document, beside which there is nothing."""
    (folder / "link.html").symlink_to("nowhere")
    before = (folder / "people.csv").read_bytes()
    status = 1 if told in {"unknown_table", "repository_not_found"} else 2
    asks = any(each.startswith("--json") for each in typed)
    for words in (typed, typed if asks else [*typed, "--json"]):
        failed = graph(*words, status=status)
        assert told in failed.err
        assert failed.out == ""
        if asks or words is not typed:
            assert json.loads(failed.err)["error"]["kind"] != "bug"
    assert (folder / "people.csv").read_bytes() == before


def test_a_limit_may_be_any_number(graph: Og) -> None:
    """Also one that no machine counts to."""
    assert len(graph("cat", "node:Person", "--limit", _HUGE).lines) == 2
    assert len(graph("diff", "1", "--rows", "--json", "--limit", _HUGE).lines) == 3


def test_a_dash_is_a_file_only_where_files_stand(graph: Og, folder: Path) -> None:
    """As the value of an option it is what was typed, or refused."""
    (folder / "c.csv").write_text("id,name\nc,Cid\n")
    assert "--message" in graph("load", "node:Person", "c.csv", "--message", "-", status=2).err
    graph("load", "node:Person", "c.csv", "--message=-")
    assert graph("log", "--json").lines[0]["message"] == "-"
    (folder / "-").write_text("mine")
    refused = graph("load", "node:Person", "c.csv", "--json", "-", status=2)
    assert "standard input does not tell its format" in json.loads(refused.err)["error"]["message"]


def test_with_json_there_is_nothing_but_json(graph: Og, folder: Path) -> None:
    """Where something is written to a file, and where a merge meets conflicts."""
    told = graph("cat", "node:Person", "--out", "p.csv", "--json")
    assert (told.document, told.err) == ({"file": "p.csv", "rows": 2}, "")
    told = graph("explore", "--out", "p.html", "--json")
    assert told.document["file"] == "p.html"
    assert told.err == ""
    assert graph("optimize", "--json").err == ""
    graph("branch", "create", "side")
    for name, branch in (("S", "side"), ("M", "main")):
        (folder / "c.csv").write_text(f"id,name,age\na,{name},1\n")
        graph("load", "node:Person", "c.csv", "--mode", "upsert", "--branch", branch)
    told = graph("merge", "side", "--json", status=4)
    assert told.err == ""
    assert (told.document["source"], told.document["into"]) == ("side", "main")


def test_a_page_is_replaced_and_nothing_else(graph: Og, folder: Path) -> None:
    """One that was written before is written anew."""
    graph("explore", "--out", "p.html")
    before = (folder / "p.html").stat().st_ino
    graph("explore", "--out", "p.html")
    assert (folder / "p.html").stat().st_ino != before


def test_a_folder_that_is_gone_is_told(
    graph: Og, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that the command is started in."""
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "the current folder cannot be read" in graph("tables", status=2).err
