"""The answers of the API match the content of the repository."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from page_access import JsonApi
from sample_graphs import KNOWS, PERSON, commit_on, person, schema

from omnigraph_l2 import Repository
from omnigraph_l2.errors import (
    InvalidFilter,
    InvalidRequest,
    NotFound,
    OmniGraphError,
    SnapshotExpired,
    UnknownBranch,
    UnknownCommit,
    UnknownTable,
    UnknownTag,
)


def ask(answers: JsonApi, question: str, **given: Any) -> dict[str, Any]:
    """Send a request; return the answer as the page gets it."""
    answer = answers.answer(question, {key.rstrip("_"): str(each) for key, each in given.items()})
    found: dict[str, Any] = json.loads(json.dumps(answer))
    return found


def test_the_graph_has_every_commit_with_its_place(
    answers: JsonApi, commits: dict[str, str]
) -> None:
    """All commits are there, newest first, children above parents; those of a deleted branch that
    were merged, too; main runs in lane 0, and each line ends where its commit is.
    """
    page = ask(answers, "commits")
    ids = [each["id"] for each in page["commits"]]
    assert set(ids) == set(commits.values())
    assert len(ids) == len(commits)
    by_id = {each["id"]: each for each in page["commits"]}
    for each in page["commits"]:
        for parent in (each["parent"], each["merged"]):
            assert parent is None or ids.index(parent) > ids.index(each["id"])
        assert (each["lane"] == 0) == (each["branch"] == "main")
    merge, aside = by_id[commits["merge"]], by_id[commits["aside"]]
    assert merge["merged"] == aside["id"]
    assert (aside["branch"], aside["deleted"], aside["lane"]) == ("gone", True, 1)
    assert [aside["lane"], aside["colour"]] in merge["below"]
    assert {each["name"]: each["head"] for each in page["branches"]} == {
        "main": commits["head"],
        "what-if": commits["what-if"],
    }
    (tag,) = page["tags"]
    assert (tag["name"], tag["commit"], tag["message"]) == ("v1", commits["first"], "as delivered")
    assert page["notes"] == []
    assert not page["more"]


def test_pages_of_the_graph_fit_together(answers: JsonApi) -> None:
    """Commits that come page by page are those that come at once, with the same locations."""
    whole = ask(answers, "commits")
    found, heads = [], None
    while True:
        given = {} if heads is None else {"heads": heads, "offset": len(found)}
        page = ask(answers, "commits", limit=2, **given)
        found += page["commits"]
        heads = page["heads"]
        if not page["more"]:
            break
    assert found == whole["commits"]


def test_the_graph_starts_again_when_a_head_has_moved(tmp_path: Path) -> None:
    """A page of an outdated history returns the new history from its start."""
    with Repository.init(tmp_path / "graph", schema(), durability="none") as repo:
        for name in ("Ann", "Bob"):
            commit_on(repo, "main", name, people=[person(name)])
        answers = JsonApi(repo)
        first = ask(answers, "commits", limit=1)
        moved = commit_on(repo, "main", "Cat", people=[person("Cat")])
        ask(answers, "commits")
        again = ask(answers, "commits", limit=1, offset=1, heads=first["heads"])
        assert again["offset"] == 0
        assert again["commits"][0]["id"] == moved.graph_commit_id


def test_tables_of_any_revision(answers: JsonApi, commits: dict[str, str]) -> None:
    """Rows, sizes and files of each table, at a branch, a tag, a commit of any branch."""

    def rows(at: str) -> dict[str, int]:
        page = ask(answers, "tables", at=at)
        assert all(each["problem"] is None for each in page["tables"])
        assert all(each["bytes"] > 0 for each in page["tables"] if each["rows"])
        return {each["key"]: each["rows"] for each in page["tables"]}

    assert rows("branch:main") == {PERSON: 3, KNOWS: 1}
    assert rows("tag:v1") == {PERSON: 3, KNOWS: 1}
    assert rows("branch:what-if") == {PERSON: 4, KNOWS: 1}
    assert rows(f"commit:{commits['what-if']}") == {PERSON: 4, KNOWS: 1}
    assert rows(f"commit:{commits['main']}") == {PERSON: 2, KNOWS: 1}
    assert rows(f"commit:{commits['genesis']}") == {PERSON: 0, KNOWS: 0}


def test_growth_has_the_rows_at_each_commit(answers: JsonApi, commits: dict[str, str]) -> None:
    """Along the commits of the branch, oldest first, up to the moment and no further."""
    growth = ask(answers, "growth", at="branch:main")
    names = ["genesis", "first", "main", "merge", "evolved", "head"]
    assert [each["id"] for each in growth["moments"]] == [commits[name] for name in names]
    assert growth["tables"][PERSON] == [0, 3, 2, 3, 3, 3]
    earlier = ask(answers, "growth", at=f"commit:{commits['main']}")
    assert earlier["tables"][PERSON] == [0, 3, 2]
    branch = ask(answers, "growth", at="branch:what-if")
    assert branch["tables"][PERSON] == [0, 3, 2, 3, 4]


def test_changes_of_a_commit(answers: JsonApi, commits: dict[str, str]) -> None:
    """Counts for each table that differs from the first parent; the first commit adds the types."""

    def changed(name: str) -> dict[str, Any]:
        return {each["key"]: each for each in ask(answers, "changes", id=commits[name])["tables"]}

    people = changed("main")[PERSON]
    assert (people["inserted"], people["updated"], people["deleted"]) == (0, 1, 1)
    assert set(changed("main")) == {PERSON}
    assert {each["change"] for each in changed("genesis").values()} == {"added"}
    assert changed("first")[KNOWS]["inserted"] == 1
    assert changed("merge")[PERSON]["inserted"] == 1
    assert changed("evolved")[PERSON]["added_properties"] == ["age"]
    assert changed("what-if")[PERSON]["inserted"] == 1


def test_changed_rows_have_both_sides(answers: JsonApi, commits: dict[str, str]) -> None:
    """What was and what is, and which values differ; the kind can be chosen."""
    page = ask(answers, "changed-rows", id=commits["main"], table=PERSON)
    assert [each["name"] for each in page["columns"]] == ["id", "name", "city"]
    rows = {each["change"]: each for each in page["rows"]}
    assert rows["update"]["before"] == ["ann", "Ann", "Oslo"]
    assert rows["update"]["after"] == ["ann", "Ann", "Riga"]
    assert rows["update"]["changed"] == [2]
    assert (rows["delete"]["before"], rows["delete"]["after"]) == (["cat", "Cat", "Oslo"], None)
    only = ask(answers, "changed-rows", id=commits["main"], table=PERSON, kind="delete")
    assert [each["change"] for each in only["rows"]] == ["delete"]
    nulls = ask(answers, "changed-rows", id=commits["head"], table=PERSON)
    (bob,) = nulls["rows"]
    age = [each["name"] for each in nulls["columns"]].index("age")
    assert (bob["before"][age], bob["after"][age]) == (None, "40")
    assert age in bob["changed"]


def test_changed_rows_page_by_page(answers: JsonApi, commits: dict[str, str]) -> None:
    """Each row comes once."""
    first = ask(answers, "changed-rows", id=commits["first"], table=PERSON, limit=2)
    rest = ask(answers, "changed-rows", id=commits["first"], table=PERSON, skip=first["next"])
    ids = [each["after"][0] for each in (*first["rows"], *rest["rows"])]
    assert sorted(ids) == ["ann", "bob", "cat"]
    assert rest["next"] is None


def test_rows_of_any_revision(answers: JsonApi, commits: dict[str, str]) -> None:
    """The columns and the rows as they were, the keys first; pages follow each other."""
    page = ask(answers, "rows", at="tag:v1", table=PERSON)
    assert sorted(page["rows"]) == [
        ["ann", "Ann", "Oslo"],
        ["bob", "Bob", "Rome"],
        ["cat", "Cat", "Oslo"],
    ]
    edges = ask(answers, "rows", at="branch:main", table=KNOWS)
    assert [each["name"] for each in edges["columns"]] == ["id", "src", "dst", "since"]
    assert edges["rows"] == [["ab", "ann", "bob", "2019"]]
    found, start = [], {}
    while True:
        page = ask(answers, "rows", at="branch:main", table=PERSON, limit=1, **start)
        found += [row[0] for row in page["rows"]]
        if page["next"] is None:
            break
        start = {"from": page["next"]}
    assert sorted(found) == ["ann", "bob", "dan"]
    assert page["looked"] == page["of"] == 3


def test_rows_by_a_filter(answers: JsonApi) -> None:
    """Only matching rows; an invalid filter is an error, also for an empty table."""
    page = ask(answers, "rows", at="tag:v1", table=PERSON, filter="city = 'Oslo'", limit=1)
    rest = ask(
        answers, "rows", at="tag:v1", table=PERSON, filter="city = 'Oslo'", from_=page["next"]
    )
    assert sorted(row[0] for row in (*page["rows"], *rest["rows"])) == ["ann", "cat"]
    assert rest["next"] is None
    for at in ("tag:v1", f"commit:{_genesis(answers)}"):
        with pytest.raises(InvalidFilter):
            ask(answers, "rows", at=at, table=PERSON, filter="city = = 'Oslo'")
        with pytest.raises(InvalidFilter):
            ask(answers, "rows", at=at, table=PERSON, filter="town = 'Oslo'")


def _genesis(answers: JsonApi) -> str:
    found: str = ask(answers, "commits")["commits"][-1]["id"]
    return found


def test_the_schema_of_any_revision(answers: JsonApi, commits: dict[str, str]) -> None:
    """Types with their ends and properties, as they were."""
    now = {each["key"]: each for each in ask(answers, "schema", at="branch:main")["types"]}
    assert (now[KNOWS]["source"], now[KNOWS]["target"]) == ("Person", "Person")
    assert [each["name"] for each in now[PERSON]["properties"]] == ["name", "city", "age"]
    assert [each["required"] for each in now[PERSON]["properties"]] == [True, False, False]
    before = {each["key"]: each for each in ask(answers, "schema", at="tag:v1")["types"]}
    assert [each["name"] for each in before[PERSON]["properties"]] == ["name", "city"]


def test_verify_reports_damage(tmp_path: Path) -> None:
    """An intact repository has no findings; a missing file has one that names it."""
    location = tmp_path / "copy"
    with Repository.init(location, schema(), durability="none") as repo:
        commit_on(repo, "main", "first", people=[person("Ann")])
        answers = JsonApi(repo)
        assert ask(answers, "verify", duplicates=1, dangling=1)["ok"]
    for file in (location / "nodes").rglob("*.lance"):
        file.unlink()
    with Repository.open(location) as repo:
        report = ask(JsonApi(repo), "verify")
    assert not report["ok"]
    assert report["findings"][0]["severity"] == "error"
    assert PERSON in report["findings"][0]["subject"]
    assert report["findings"][0]["remedy"]


def test_a_table_that_is_damaged_does_not_hide_the_others(tmp_path: Path) -> None:
    """It has its rows from the catalog and the problem."""
    location = tmp_path / "graph"
    with Repository.init(location, schema(), durability="none") as repo:
        commit_on(repo, "main", "first", people=[person("Ann")])
        path = repo.snapshot().tables[PERSON].table_path
    shutil.rmtree(location / path)
    with Repository.open(location) as repo:
        page = ask(JsonApi(repo), "tables", at="branch:main")
    tables = {each["key"]: each for each in page["tables"]}
    assert tables[PERSON]["rows"] == 1
    assert tables[PERSON]["problem"]
    assert tables[PERSON]["bytes"] is None
    assert tables[KNOWS]["problem"] is None


def test_data_of_a_deleted_branch_is_expired(answers: JsonApi, commits: dict[str, str]) -> None:
    """The commit is known, its tables are not, and the error says so."""
    assert ask(answers, "commit", id=commits["aside"])["deleted"]
    with pytest.raises(SnapshotExpired):
        ask(answers, "tables", at=f"commit:{commits['aside']}")
    with pytest.raises(SnapshotExpired):
        ask(answers, "changes", id=commits["aside"])


@pytest.mark.usefixtures("lease_at_once")
def test_data_that_cleanup_removed_is_expired(tmp_path: Path) -> None:
    """The graph has every commit still; growth has gaps; the head is as it was."""
    from datetime import timedelta  # noqa: PLC0415

    with Repository.init(tmp_path / "graph", schema(), durability="none") as repo:
        old = commit_on(repo, "main", "one", people=[person("Ann")])
        with repo.transaction(message="over") as tx:
            tx.overwrite(PERSON, [person("Bob"), person("Cat")])
        for name in ("Dan", "Eve"):
            commit_on(repo, "main", name, people=[person(name)])
        repo.cleanup(timedelta(0), dry_run=False)
    with Repository.open(tmp_path / "graph") as repo:
        answers = JsonApi(repo)
        assert len(ask(answers, "commits")["commits"]) == 5
        with pytest.raises(SnapshotExpired):
            ask(answers, "rows", at=f"commit:{old.graph_commit_id}", table=PERSON)
        growth = ask(answers, "growth", at="branch:main")["tables"][PERSON]
        assert growth[-1] == 4
        assert ask(answers, "tables", at="branch:main")["tables"][0]["rows"] == 4


@pytest.mark.parametrize(
    ("question", "given", "error"),
    [
        ("tables", {}, InvalidRequest),
        ("tables", {"at": "main"}, InvalidRequest),
        ("tables", {"at": "branch:"}, InvalidRequest),
        ("tables", {"at": "branch:unknown"}, UnknownBranch),
        ("tables", {"at": "tag:none"}, UnknownTag),
        ("tables", {"at": "commit:none"}, OmniGraphError),
        ("tables", {"at": "commit:main"}, UnknownCommit),
        ("tables", {"at": "branch:main", "offset": "-1"}, InvalidRequest),
        ("tables", {"at": "branch:main", "offset": "²"}, InvalidRequest),
        ("tables", {"at": "branch:main", "limit": "501"}, InvalidRequest),
        ("tables", {"at": "branch:main", "colour": "red"}, InvalidRequest),
        ("rows", {"at": "branch:main", "table": "node:Unknown"}, UnknownTable),
        ("rows", {"at": "branch:main", "table": "../../etc"}, UnknownTable),
        ("rows", {"at": "branch:main", "table": PERSON, "limit": "0"}, InvalidRequest),
        ("rows", {"at": "branch:main", "table": PERSON, "from": "x"}, InvalidRequest),
        ("rows", {"at": "branch:main", "table": PERSON, "filter": "x" * 5000}, InvalidRequest),
        ("commit", {"id": "none"}, UnknownCommit),
        ("changes", {"id": "none"}, UnknownCommit),
        ("changed-rows", {"id": "none", "table": PERSON}, UnknownCommit),
        ("verify", {"duplicates": "yes"}, InvalidRequest),
        ("everything", {}, NotFound),
    ],
)
def test_what_makes_no_sense_is_refused(
    answers: JsonApi, question: str, given: dict[str, str], error: type[OmniGraphError]
) -> None:
    """By a typed error that says what is wrong."""
    with pytest.raises(error) as caught:
        answers.answer(question, given)
    assert caught.value.kind
    assert str(caught.value)


def test_a_place_beyond_the_end_has_no_rows(answers: JsonApi) -> None:
    """A page of a table that has fewer rows now is empty, and the last."""
    page = ask(answers, "rows", at="branch:main", table=PERSON, from_="99.5")
    assert (page["rows"], page["next"]) == ([], None)
