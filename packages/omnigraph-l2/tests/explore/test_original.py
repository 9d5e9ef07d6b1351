"""Repositories of the original program are looked at like all others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "opening"))

from original_program import Original
from shown_graphs import KNOWS, PERSON

from omnigraph_l2 import Repository
from omnigraph_l2._explore.answers import Answers


@pytest.mark.parametrize("version", [1, 2])
def test_a_repository_of_the_original_program(tmp_path: Path, version: int) -> None:
    """Its history without actors, its tables, its edges whose ends are not known."""
    original = Original(tmp_path / "graph")
    original.create(version=version)
    if version > 1:
        original.publish(PERSON, [{"id": "a", "name": "Ann"}], "second")
    with Repository.open(tmp_path / "graph") as repo:
        answers = Answers(repo)
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
