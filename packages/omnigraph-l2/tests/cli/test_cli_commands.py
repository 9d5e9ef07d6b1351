"""Each command, as people and as programs use it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli_run import RunCommand

from omnigraph_l2 import Repository


def _change(og: RunCommand, folder: Path, name: str, text: str, *more: str) -> str:
    (folder / f"{name}.csv").write_text(text)
    result = og(
        "load", "node:Person", f"{name}.csv", "--mode", "upsert", "-m", name, "--json", *more
    )
    return str(result.document["commit_id"])


def test_info_shows_the_origin_of_settings(graph: RunCommand, folder: Path) -> None:
    """The location, the content and the origin of settings, but no value of a storage option."""
    (folder / "omnigraph.toml").write_text('actor = "ann"\n[storage]\ntimeout = "77s"\n')
    result = graph("info", "--json")
    assert result.document["rows"] == 3
    assert result.document["settings"]["from"] == {
        "repo": "OMNIGRAPH_REPO", "actor": str(folder / "omnigraph.toml"),
        "durability": "OMNIGRAPH_DURABILITY", "storage.timeout": str(folder / "omnigraph.toml"),
    }  # fmt: skip
    shown = graph("info")
    assert "77s" not in result.out + shown.out
    assert str(folder / "omnigraph.toml") in shown.out


def test_tables_have_rows_files_and_bytes(graph: RunCommand) -> None:
    """At any revision."""
    people, knows = graph("tables", "--json").document["tables"][::-1]
    assert (people["table_key"], people["rows"], people["files"]) == ("node:Person", 2, 1)
    assert people["bytes"] > 0
    assert knows["table_key"] == "edge:Knows"
    first = graph("log", "--json").lines[-1]["graph_commit_id"]
    assert all(
        each["rows"] == 0
        for each in graph("tables", "--commit", first, "--json").document["tables"]
    )
    assert graph("tables").out.splitlines()[0].split() == [
        "table",
        "rows",
        "files",
        "size",
        "version",
        "fork",
    ]


def test_cat_in_every_format(graph: RunCommand, folder: Path) -> None:
    """With a filter, columns and a limit; to a file or to standard output."""
    assert graph("cat", "node:Person", "--filter", "age > 20", "--columns", "id,age").lines == [
        {"id": "a", "age": 30}
    ]
    assert len(graph("cat", "node:Person", "-n", "1").lines) == 1
    assert graph("cat", "node:Person", "--format", "csv").out.splitlines() == [
        "id,name,age", "a,Ann,30", "b,Bob,"
    ]  # fmt: skip
    assert graph("cat", "node:Person", "--format", "table").out.splitlines()[2].split() == [
        "b",
        "Bob",
        "-",
    ]
    graph("cat", "node:Person", "--out", "p.parquet")
    assert pq.read_table("p.parquet").to_pylist()[0] == {"id": "a", "name": "Ann", "age": 30}
    graph("cat", "node:Person", "--out", "p.csv")
    before = (folder / "p.csv").read_bytes()
    graph("cat", "node:Person", "--out", "p.csv", status=2)
    assert (folder / "p.csv").read_bytes() == before
    assert [each.name for each in folder.glob(".p*")] == []


def test_what_cat_writes_load_reads(graph: RunCommand, folder: Path) -> None:
    """The same rows again, through each format."""
    rows = graph("cat", "node:Person", "--json").lines
    for format_ in ("ndjson", "csv", "parquet"):
        graph("cat", "node:Person", "--out", f"out.{format_}")
        graph("load", "node:Person", f"out.{format_}", "--mode", "overwrite", "--yes")
        assert sorted(graph("cat", "node:Person", "--json").lines, key=str) == sorted(rows, key=str)


def test_cat_shows_any_revision(graph: RunCommand, folder: Path) -> None:
    """By version, commit, tag, time, branch."""
    old = graph("log", "--json").lines[0]
    graph("tag", "create", "v1")
    graph("branch", "create", "side")
    _change(graph, folder, "later", "id,name,age\na,Anna,31\n")
    for arguments in (
        ("--version", str(old["manifest_version"])), ("--commit", old["graph_commit_id"]),
        ("--tag", "v1"), ("--as-of", old["created_at"]), ("--branch", "side"),
    ):  # fmt: skip
        assert (
            graph("cat", "node:Person", "-f", "id = 'a'", "--json", *arguments).lines[0]["name"]
            == "Ann"
        )
    assert graph("cat", "node:Person", "-f", "id = 'a'", "--json").lines[0]["name"] == "Anna"


def test_values_cannot_write_to_a_terminal(graph: RunCommand, folder: Path) -> None:
    """In a table, control characters are escaped; output for programs is unchanged."""
    _change(graph, folder, "evil", 'id,name,age\ne,"\x1b[31mred\x07",1\n')
    assert "\\x1b[31mred\\x07" in graph("cat", "node:Person", "--format", "table").out
    assert "\x1b" not in graph("diff", "1", "--rows").out
    assert "\x1b[31mred" in graph("cat", "node:Person", "--format", "csv").out


def test_log_with_heads_and_merges(graph: RunCommand, folder: Path) -> None:
    """Heads and tags are shown with their commits, and merges are drawn."""
    graph("branch", "create", "side")
    graph("tag", "create", "v1", "--message", "as delivered")
    _change(graph, folder, "on side", "id,name,age\nc,Cid,1\n", "--branch", "side")
    _change(graph, folder, "on main", "id,name,age\na,Ann,32\n", "--actor", "bob")
    graph("merge", "side", "-m", "both")
    lines = graph("log", "--graph").out.splitlines()
    pictures = [re.match(r"[*|/\\ ]*", line) for line in lines]
    assert [each and each.group().rstrip() for each in pictures] == [
        "*", "|\\", "* |", "| *", "|/", "*", "*",
    ]  # fmt: skip
    assert "(main)" in lines[0]
    assert "bob: on main" in lines[2]
    assert "(side)" in lines[3]
    assert "(tag: v1)" in lines[5]
    newest = graph("log", "--json", "--limit", "1").lines[0]
    assert newest["branches"] == ["main"]
    assert newest["merged_parent_commit_id"] is not None


def test_diff_shows_counts_and_rows_on_request(graph: RunCommand, folder: Path) -> None:
    """With an exit status for scripts."""
    before = graph("log", "--json").lines[0]["graph_commit_id"]
    assert graph("diff", before, "--exit-code").out == "no differences\n"
    _change(graph, folder, "new", "id,name,age\na,Anna,30\nc,Cid,\n")
    result = graph("diff", before, "--exit-code", "--json", status=3).document
    assert [
        (each["table_key"], each["inserted"], each["updated"]) for each in result["tables"]
    ] == [("node:Person", 1, 1)]
    assert graph("diff", before, "main").out == "node:Person  changed  +1 inserted  ~1 updated\n"
    shown = graph("diff", before, "--rows").out
    assert "+ c  name='Cid', age=None" in shown
    assert "    name: 'Ann' → 'Anna'" in shown
    rows = graph("diff", before, "--rows", "--json", "--table", "node:Person").lines
    result = {row["id"]: (row["change"], row["before"] and row["before"]["name"]) for row in rows}
    assert result == {
        "a": ("update", "Ann"), "c": ("insert", None),
    }  # fmt: skip


def test_conflicts_are_listed_and_change_nothing(graph: RunCommand, folder: Path) -> None:
    """As text and as JSON, with status 4; a strategy resolves them."""
    graph("branch", "create", "side")
    _change(graph, folder, "side", "id,name,age\na,Side,1\n", "--branch", "side")
    _change(graph, folder, "main", "id,name,age\na,Main,1\n")
    result = graph("merge", "side", "--json", status=4)
    (conflict,) = result.document["conflicts"]
    assert (conflict["row_id"], conflict["kind"]) == ("a", "divergent_update")
    assert (conflict["ours"]["name"], conflict["theirs"]["name"]) == ("Main", "Side")
    shown = graph("merge", "side", status=4)
    assert "divergent_update  node:Person 'a' was changed on both, differently" in shown.out
    assert "--strategy" in shown.err
    assert "would be: merged" in graph("merge", "side", "--strategy", "theirs", "--dry-run").out
    assert graph("cat", "node:Person", "-f", "id = 'a'").lines[0]["name"] == "Main"
    graph("merge", "side", "--strategy", "theirs")
    assert graph("cat", "node:Person", "-f", "id = 'a'").lines[0]["name"] == "Side"
    assert graph("merge", "side", "--json").document["kind"] == "already_up_to_date"


def test_a_commit_is_reverted(graph: RunCommand, folder: Path) -> None:
    """With a new commit; a later change of the same row is a conflict."""
    commit = _change(graph, folder, "wrong", "id,name,age\na,Wrong,1\n")
    made = graph("revert", commit, "--json", "-m", "it was wrong").document["commit"]
    assert made["message"] == "it was wrong"
    assert graph("cat", "node:Person", "-f", "id = 'a'").lines[0]["name"] == "Ann"
    _change(graph, folder, "other", "id,name,age\na,Other,1\n")
    graph("revert", commit, status=4)


def test_branches_and_tags(graph: RunCommand, folder: Path) -> None:
    """A deletion is shown first and needs --yes."""
    graph("branch", "create", "side", "--from", "main")
    _change(graph, folder, "on side", "id,name,age\nc,Cid,1\n", "--branch", "side")
    graph("tag", "create", "v1", "--from", "side")
    result = graph("branch", "delete", "side", "--json", status=2).document
    assert (result["done"], result["commits"]) == (False, 1)
    assert result["bytes"] > 0
    assert "branch_in_use" in graph("branch", "delete", "side", "--yes", status=2).err
    assert "which names" in graph("tag", "delete", "v1", status=2).out
    graph("tag", "delete", "v1", "--yes")
    graph("branch", "delete", "side", "--yes")
    assert [each["name"] for each in graph("branch", "list", "--json").document["branches"]] == [
        "main"
    ]
    assert graph("tag", "list", "--json").document == {"tags": []}
    assert graph("branch", "delete", "side", "--yes", status=1).err.startswith("unknown_branch: ")


def test_runs(graph: RunCommand, folder: Path) -> None:
    """Runs are listed, shown with their changes, and aborted."""
    with Repository.open(folder / "graph") as repo:
        run = repo.runs.begin(operation_hash="monday")
        with run.transaction() as tx:
            tx.append("node:Person", [{"id": "r", "name": "Rob"}])
    (listed,) = graph("runs", "list", "--status", "running", "--json").document["runs"]
    assert (listed["run_id"], listed["operation_hash"]) == (run.run_id, "monday")
    assert "1 inserted" in graph("runs", "abort", run.run_id, status=2).out
    graph("runs", "abort", run.run_id, "--yes")
    assert graph("runs", "show", run.run_id, "--json").document["status"] == "aborted"
    assert "monday" in graph("runs", "list").out


def test_evolve_applies_a_schema_file(graph: RunCommand, folder: Path) -> None:
    """A plan that drops something needs --yes; others are carried out."""
    text = graph("schema", "--toml").out
    (folder / "more.toml").write_text(text + "\n[nodes.City]\n")
    assert "add node type 'City'" in graph("evolve", "more.toml", "--dry-run").out
    graph("evolve", "more.toml", "-m", "cities")
    assert "node:City" in graph("schema").out
    (folder / "less.toml").write_text(text)
    assert "drop node type 'City'" in graph("evolve", "less.toml", status=2).out
    graph("evolve", "less.toml", "--yes")
    assert "node:City" not in graph("schema").out
    assert graph("schema", "--toml").out == text
    assert graph("evolve", "less.toml", "--json").document["done"] is False


@pytest.mark.usefixtures("lease_at_once")
def test_upkeep(graph: RunCommand, folder: Path) -> None:
    """Optimize, cleanup, verify, repair and migrate, as a dry run and for real."""
    for name in "xyz":
        _change(graph, folder, name, f"id,name,age\n{name},X,1\n")
    assert graph("optimize", "--table", "node:Person", "--json").document["tables"]["node:Person"]
    result = graph("cleanup", "--older-than", "0s", "--json", status=2).document
    assert not result["done"]
    assert result["bytes"] > 0
    assert (
        graph("cleanup", "--older-than", "0s", "--dry-run", "--json").document["count"]
        == result["count"]
    )
    assert graph("cleanup", "--older-than", "0s", "--yes", "--json").document["done"]
    assert graph("cleanup", "--older-than", "soon", status=2).err.startswith(
        "usage: Invalid duration 'soon'"
    )
    assert graph("verify", "--dangling-edges", "--values", "--json").document["ok"]
    assert "nothing wrong" in graph("verify").out
    assert graph("repair", "--dry-run", "--json").document["ok"]
    assert graph("migrate", "--json").document["is_needed"] is False


def test_damage_is_status_5(graph: RunCommand, folder: Path) -> None:
    """Each finding of verify has a remedy."""
    (data,) = (folder / "graph/edges").glob("*/data/*.lance")
    data.unlink()
    result = graph("verify", "--json", status=5).document
    assert any(each["severity"] == "error" for each in result["findings"])
    assert "error" in graph("verify", status=5).out
    graph("repair", "--dry-run", status=5)


@pytest.mark.parametrize(
    ("arguments", "kind", "status"),
    [
        (["tables", "--repo", "nowhere"], "repository_not_found", 1),
        (["cat", "node:Unknown"], "unknown_table", 1),
        (["cat", "node:Person", "--filter", "aeg > 3"], "invalid_filter", 2),
        (["cat", "node:Person", "--branch", "x"], "unknown_branch", 1),
        (["init", "--schema", "schema.toml"], "repository_exists", 1),
        (["init", "new", "--schema", "gone.toml"], "usage", 2),
        (["branch", "create", "a b"], "invalid_branch_name", 2),
        (["lod"], "usage", 2),
        (["cat"], "usage", 2),
        (["cat", "node:Person", "--limt", "3"], "usage", 2),
        (["cat", "node:Person", "--as-of", "noon"], "usage", 2),
        (["tables", "--storage", "secret"], "usage", 2),
    ],
)  # fmt: skip
def test_errors_are_one_message(
    graph: RunCommand, arguments: list[str], kind: str, status: int
) -> None:
    """The kind comes first, or one document; standard output is empty, without a traceback."""
    failed = graph(*arguments, status=status)
    assert failed.err.startswith(f"{kind}: ")
    assert failed.out == ""
    assert "Traceback" not in failed.err
    found = json.loads(graph(*arguments, "--json", status=status).err)["error"]
    assert found["kind"] == kind
    assert found["message"]


def test_misspelled_arguments_get_a_suggestion(graph: RunCommand) -> None:
    """Commands and options."""
    assert 'Did you mean "load"' in graph("lod", status=2).err
    assert "Did you mean --limit" in graph("cat", "node:Person", "--limt", "3", status=2).err


def test_the_unforeseen_is_told_as_a_bug(
    graph: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a traceback, and with instructions."""

    def broken(*_: object, **__: object) -> None:
        raise KeyError("oops")  # noqa: EM101

    monkeypatch.setattr(Repository, "open", broken)
    failed = graph("tables", status=1)
    assert failed.err.startswith("bug: KeyError: 'oops'\n")
    assert "OMNIGRAPH_TRACEBACK=1" in failed.err
    assert "Traceback" not in failed.err
