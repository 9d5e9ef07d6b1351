"""A catalog of another publisher is shown like any other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from page_access import JsonApi

sys.path.insert(0, str(Path(__file__).parent.parent / "opening"))

from other_publisher import OtherPublisher
from sample_graphs import KNOWS, PERSON

from omnigraph_l2 import Repository


@pytest.mark.parametrize("version", [1, 2])
def test_a_repository_of_another_publisher(tmp_path: Path, version: int) -> None:
    """Its history without actors, its tables, its edges whose ends are not known."""
    other = OtherPublisher(tmp_path / "graph")
    other.create(version=version)
    if version > 1:
        other.publish(PERSON, [{"id": "a", "name": "Ann"}], "second")
    with Repository.open(tmp_path / "graph") as repo:
        answers = JsonApi(repo)
        history = answers.answer("commits", {})
        ids = [each["id"] for each in history["commits"]]
        assert ids == (["second", "genesis"] if version > 1 else ["genesis"])
        assert history["commits"][0]["actor"] is None
        for commit_id in ids:
            at = {"at": f"commit:{commit_id}"}
            assert {each["key"] for each in answers.answer("tables", at)["tables"]} == {
                PERSON,
                KNOWS,
            }
            types = {each["key"]: each for each in answers.answer("schema", at)["types"]}
            assert types[KNOWS]["source"] is None
        if version > 1:
            rows = answers.answer("rows", {"at": "commit:second", "table": PERSON})
            assert rows["rows"] == [["a", "Ann"]]
            (changed,) = answers.answer("changes", {"id": "second"})["tables"]
            assert changed["inserted"] == 1
