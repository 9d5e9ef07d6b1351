"""Whatever a repository contains, an answer is small and fast.

Private limits are lowered; the real ones need repositories of gigabytes.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from page_access import JsonApi
from sample_graphs import PERSON, commit_on, person, schema

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2._explore import commit_changes, commit_stream, history_pages, row_pages, serialize
from omnigraph_l2._explore.row_pages import read_row_page
from omnigraph_l2.errors import InvalidRequest


def large(location: Path, **properties: pa.DataType) -> Repository:
    """Make a repository with one type."""
    kinds = GraphSchema(nodes=[NodeType("Large", properties)])
    return Repository.init(location, kinds, durability="none")


def ids(page: dict[str, Any]) -> list[str]:
    """Name the rows of a page."""
    return [row[0] for row in page["rows"]]


def test_cells_of_many_megabytes(tmp_path: Path) -> None:
    """A page of them is small, has few rows, and goes on where it ended; so are their changes."""
    cell = "x" * 5_000_000
    with large(tmp_path / "graph", text=pa.string(), n=pa.int32()) as repo:
        with repo.transaction() as tx:
            tx.append("node:Large", [{"id": str(n), "text": cell, "n": n} for n in range(20)])
        assert tx.commit is not None
        answers = JsonApi(repo)
        found: list[str] = []
        start: dict[str, str] = {}
        pages = 0
        while True:
            given = {"at": "branch:main", "table": "node:Large"} | start
            page = answers.answer("rows", given)
            assert len(json.dumps(page)) < 20_000
            found += ids(page)
            pages += 1
            if page["next"] is None:
                break
            assert page["why"] == "large"
            start = {"from": page["next"]}
        assert sorted(found, key=int) == [str(n) for n in range(20)]
        assert pages > 1
        changed = answers.answer(
            "changed-rows", {"id": tx.commit.graph_commit_id, "table": "node:Large"}
        )
        assert [each["name"] for each in changed["columns"]] == ["id", "n"]
        assert (len(changed["rows"]), changed["left_out"]) == (20, 1)


def test_a_filter_that_finds_nothing_ends_after_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how far it came and continues from there: each row is found once."""
    monkeypatch.setattr(row_pages, "_ROWS_PER_SCAN", 1)
    with large(tmp_path / "graph", n=pa.int32()) as repo:
        for part in range(4):
            with repo.transaction() as tx:
                tx.append("node:Large", [{"id": f"{part}{n}", "n": n} for n in range(3)])
        snapshot = repo.snapshot()

        def page(start: str | None) -> dict[str, Any]:
            clock = itertools.count(0, 10).__next__  # every look takes too long
            return read_row_page(
                snapshot, "node:Large", filter_="n = 2", start=start, limit=50, clock=clock
            )

        first = page(None)
        assert (first["why"], first["looked"], first["of"]) == ("time", 3, 12)
        found, at = ids(first), first["next"]
        while at is not None:
            following = page(at)
            found += ids(following)
            at = following["next"]
        assert sorted(found) == ["02", "12", "22", "32"]


def test_many_columns_are_cut(tmp_path: Path) -> None:
    """A page has the first of them, and says how many more there are."""
    columns = {f"c{n:03}": pa.int8() for n in range(200)}
    with large(tmp_path / "graph", **columns) as repo:
        with repo.transaction() as tx:
            tx.append("node:Large", [{"id": "a"}])
        answers = JsonApi(repo)
        page = answers.answer("rows", {"at": "branch:main", "table": "node:Large"})
        assert len(page["columns"]) == len(page["rows"][0]) == 40
        assert page["left_out"] == 161
        (answer,) = answers.answer("schema", {"at": "branch:main"})["types"]
        assert len(answer["properties"]) + answer["left_out"] == 200
        assert answer["left_out"] > 0


def test_many_tables_come_page_by_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once; all of them are counted; the schema says what it left out."""
    monkeypatch.setattr(serialize, "_TYPES", 10)
    kinds = GraphSchema(nodes=[NodeType(f"N{n:02}") for n in range(25)])
    with Repository.init(tmp_path / "graph", kinds, durability="none") as repo:
        answers = JsonApi(repo)
        found = []
        for offset in (0, 10, 20, 30):
            given = {"at": "branch:main", "limit": "10", "offset": str(offset)}
            page = answers.answer("tables", given)
            assert page["count"] == 25
            found += [each["name"] for each in page["tables"]]
        assert found == [f"N{n:02}" for n in range(25)]
        answer = answers.answer("schema", {"at": "branch:main"})
        assert (len(answer["types"]), answer["left_out"]) == (10, 15)


def test_what_would_take_long_is_compared_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large commit has an upper bound; a request for the table counts it.

    Inserted rows are counted anyway, because this costs nothing.
    """
    monkeypatch.setattr(commit_changes, "_ROWS_AT_MOST", 5)
    with Repository.init(tmp_path / "graph", schema(), durability="none") as repo:
        people = [person(f"P{n}") for n in range(20)]
        first = commit_on(repo, "main", "first", people=people)
        second = commit_on(
            repo, "main", "second", people=[each | {"city": "Rome"} for each in people]
        )
        answers = JsonApi(repo)
        (came,) = answers.answer("changes", {"id": first.graph_commit_id})["tables"]
        assert came["inserted"] == 20
        asked = {"id": second.graph_commit_id}
        (answer,) = answers.answer("changes", asked)["tables"]
        assert answer == {"key": PERSON, "change": "changed", "at_most": 40}
        (counted,) = answers.answer("changes", asked | {"table": PERSON})["tables"]
        assert counted["updated"] == 20
        with pytest.raises(InvalidRequest, match="40 rows"):
            answers.answer("changed-rows", asked | {"table": PERSON})


def test_comparing_ends_after_a_time(tmp_path: Path) -> None:
    """Tables for which there was no time are listed without counts."""
    with Repository.init(tmp_path / "graph", schema(), durability="none") as repo:
        people = [person("Ann")]
        knows = [{"id": "aa", "src": "ann", "dst": "ann"}]
        commit = commit_on(repo, "main", "first", people=people, knows=knows)
        clock = itertools.count(0, 4).__next__
        answer = commit_changes.list_changes(repo, commit.graph_commit_id, clock=clock)["tables"]
        assert ["inserted" in each for each in answer] == [True, False]
        assert answer[1]["at_most"] is None


def test_the_log_is_read_as_far_as_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of a long history reads about twice what it shows; all of it comes in the end."""
    monkeypatch.setattr(commit_stream, "_FIRST", 4)
    with Repository.init(tmp_path / "graph", schema(), durability="none") as repo:
        for n in range(30):
            commit_on(repo, "main", str(n), people=[person(f"P{n}")])
        repo.branches.create("side")
        commit_on(repo, "side", "side", people=[person("Side")])
        asked: list[int] = []
        log = repo.log

        def counting(branch: str = "main", limit: int | None = None) -> Any:
            asked.append(0 if limit is None else limit)
            return log(branch, limit)

        monkeypatch.setattr(repo, "log", counting)
        answers = JsonApi(repo)
        page = answers.answer("commits", {"limit": "5"})
        assert max(asked) <= 16
        answer = [each["message"] for each in page["commits"]]
        while page["more"]:
            given = {"limit": "5", "offset": str(len(answer)), "heads": page["heads"]}
            page = answers.answer("commits", given)
            answer += [each["message"] for each in page["commits"]]
        assert answer == ["side", *(str(n) for n in reversed(range(30))), None]


def test_many_branches_and_long_walks_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph has main and the branches that changed last, so many commits of deleted ones, and
    notes that say what is missing.
    """
    monkeypatch.setattr(history_pages, "_BRANCHES", 3)
    monkeypatch.setattr(history_pages, "_NAMED", 4)
    monkeypatch.setattr(commit_stream, "_LOOKED_UP_AT_MOST", 2)
    with Repository.init(tmp_path / "graph", schema(), durability="none") as repo:
        repo.branches.create("gone")
        for n in range(5):
            commit_on(repo, "gone", f"gone {n}", people=[person(f"G{n}")])
        repo.branches.merge("gone")
        repo.branches.delete("gone")
        for n in range(5):
            repo.branches.create(f"b{n}")
            commit_on(repo, f"b{n}", f"on b{n}", people=[person(f"B{n}")])
        page = JsonApi(repo).answer("commits", {})
        answer = {each["message"] for each in page["commits"]}
        assert {"on b4", "on b3"} <= answer
        assert answer.isdisjoint({"on b0", "on b1", "on b2"})
        assert {"gone 4", "gone 3"} <= answer
        assert answer.isdisjoint({"gone 0", "gone 1"})
        assert any("3 more branches are not shown" in each for each in page["notes"])
        assert any("deleted branches" in each for each in page["notes"])
        assert len(page["branches"]) == 4
