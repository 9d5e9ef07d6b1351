"""The page as one file: complete, without requests, and its data never becomes markup."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from page_access import AnswerRecording, JsonApi, page, write_page
from sample_graphs import HOSTILE_NAME, PERSON

from omnigraph_l2 import Repository
from omnigraph_l2.errors import InvalidRequest


def embedded(html: str) -> dict[str, Any]:
    """Take the data out of a page."""
    found = re.findall(
        r'<script type="application/json" id="embedded">(.*?)</script>', html, re.DOTALL
    )
    assert len(found) == 1
    data: dict[str, Any] = json.loads(found[0])
    return data


def answer(data: dict[str, Any], *name: str) -> dict[str, Any]:
    """Return an answer by the name that the page uses."""
    found: dict[str, Any] = data["answers"][data["places"]["\n".join(name)]]
    return found


def test_a_file_contains_every_revision(
    repo: Repository, commits: dict[str, str], tmp_path: Path
) -> None:
    """The history, and of each commit its tables, rows, schema and changes, as the server has."""
    data = embedded(write_page(repo, tmp_path / "page.html").read_text())
    answers = JsonApi(repo)
    assert answer(data, "commits") == json.loads(json.dumps(answers.answer("commits", {})))
    assert answer(data, "verify")["ok"]
    for name, commit in commits.items():
        at = f"at=commit:{commit}"
        tables = answer(data, "tables", at)
        assert ("error" in tables) == (name == "aside")  # its branch is deleted
        if name != "aside":
            rows = answer(data, "rows", at, f"table={PERSON}")
            assert len(rows["rows"]) == rows["of"]
            assert answer(data, "schema", at)["types"]
            for each in answer(data, "changes", f"id={commit}")["tables"]:
                assert answer(data, "changed-rows", f"id={commit}", f"table={each['key']}")
    (note,) = data["notes"]
    assert "Tables and changes: all revisions" in note


def test_omitted_data_is_announced(repo: Repository) -> None:
    """The limits of commits and rows apply, and the note has both."""
    data = embedded(page(repo, commits=2, rows=1))
    assert len(answer(data, "commits")["commits"]) == 2
    assert answer(data, "commits")["more"]
    rows = [each for each in data["answers"] if "looked" in each]
    assert {len(each["rows"]) for each in rows} == {1}
    (note,) = data["notes"]
    assert "2 commits" in note
    assert "1 rows per table" in note
    for wrong in ({"commits": 0}, {"rows": 501}):
        with pytest.raises(InvalidRequest):
            page(repo, **wrong)


def test_a_file_is_done_in_time(repo: Repository) -> None:
    """Data for which there is no time is omitted, and the note says so."""
    times = iter([0.0, 1.0, 2.0, *[100.0] * 100])
    data = AnswerRecording(JsonApi(repo), clock=lambda: next(times)).record(
        repo.log()[0].created_at, commits=100, rows=50
    )
    (note,) = data["notes"]
    assert "2 of 8 revisions" in note


def test_no_data_becomes_markup(hostile_repo: Repository) -> None:
    """There are as many elements as in the page itself, whatever the repository says."""
    html = page(hostile_repo)
    assert len(re.findall(r"<script", html)) == 2
    assert len(re.findall(r"</script", html)) == 2
    assert "<img" not in html
    assert "onerror=hit()>" in json.dumps(embedded(html))
    assert embedded(html)["places"][
        "rows\n" + f"at={_newest(hostile_repo)}\n" + f"table=node:{HOSTILE_NAME}"
    ]


def _newest(repo: Repository) -> str:
    return f"commit:{repo.log()[0].graph_commit_id}"


def test_a_file_allows_its_own_script_only(repo: Repository) -> None:
    """By its hash; nothing from anywhere else, and no module is left to load."""
    html = page(repo)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    (script,) = re.findall(r'<script type="module">(.*?)</script>', html, re.DOTALL)
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    assert not re.search(r"(src|href)=\"(?!data:|#)", html)


def test_a_file_is_whole_or_as_before(repo: Repository, tmp_path: Path) -> None:
    """A page is replaced at once; where it cannot be written, a typed error names it."""
    location = tmp_path / "page.html"
    location.write_text("<!doctype html>before")
    write_page(repo, location)
    assert location.read_text().startswith("<!doctype html>")
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(InvalidRequest, match="missing"):
        write_page(repo, tmp_path / "missing" / "page.html")
