"""Indexes that a schema wishes for, in use: built by optimize, on branches, after merges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest

from omnigraph_l2 import GraphSchema, NodeType, Repository

DOC = "node:Doc"
PLACE = pa.list_(pa.float32(), 4)
TYPE = NodeType(
    "Doc",
    {"text": pa.string(), "place": PLACE},
    indexes={"text": "full_text", "place": "vector"},
)
BUILT = {"id_btree", "text_inverted", "place_ivf_flat"}
MANY = 300


def docs(*numbers: int) -> list[dict[str, Any]]:
    """Make documents that lie on a line, a step apart, each with a word of its own."""
    return [
        {"id": f"{n:04}", "text": f"word{n} common", "place": [float(n), 0.0, 0.0, 0.0]}
        for n in numbers
    ]


def found(repo: Repository, number: int, branch: str = "main") -> tuple[list[str], list[str]]:
    """Search for one document: by its word, and by where it lies."""
    dataset = repo.snapshot(branch).dataset(DOC)
    by_word = dataset.to_table(columns=["id", "_score"], full_text_query=f"word{number}")
    place = pa.array([number + 0.2, 0.0, 0.0, 0.0], pa.float32())
    near = {"column": "place", "q": place, "k": 1, "nprobes": 100}
    by_place = dataset.to_table(columns=["id", "_distance"], nearest=near)
    return by_word["id"].to_pylist(), by_place["id"].to_pylist()


def covered(repo: Repository, branch: str = "main") -> dict[str, int]:
    """Name the indexes, and how many fragments each does not cover."""
    found = repo.snapshot(branch)._open(DOC).indexes()
    return {name: each.unindexed_fragments for name, each in found.items()}


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """Many documents, with all indexes."""
    schema = GraphSchema(nodes=[TYPE])
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append(DOC, docs(*range(MANY)))
        assert set(repo.optimize().tables[DOC].indexes) == BUILT
        yield repo


def test_on_a_branch_and_after_a_merge(repo: Repository) -> None:
    """What is new is found, what is gone is not, whether an index covers it by now or not."""
    assert found(repo, 250) == (["0250"], ["0250"])
    repo.branches.create("side")
    with repo.transaction("side") as tx:
        tx.append(DOC, docs(500, 501))
        tx.delete(DOC, ids=["0250"])
        tx.upsert(DOC, [{**docs(100)[0], "text": "word777", "place": [777.0, 0.0, 0.0, 0.0]}])
    with repo.transaction() as tx:
        tx.append(DOC, docs(600))

    def check_side(branch: str) -> None:
        assert covered(repo, branch).keys() == BUILT
        assert found(repo, 500, branch) == (["0500"], ["0500"])
        assert found(repo, 777, branch)[0] == ["0100"]
        assert found(repo, 250, branch)[0] == found(repo, 100, branch)[0] == []

    check_side("side")
    assert found(repo, 250) == (["0250"], ["0250"])
    repo.branches.merge("side")
    check_side("main")
    assert found(repo, 600) == (["0600"], ["0600"])
    repo.optimize()
    assert set(covered(repo).values()) == {0}
    check_side("main")
    assert found(repo, 600) == (["0600"], ["0600"])
    assert repo.verify().ok


def test_wishes_are_merged(repo: Repository) -> None:
    """Those of one side come to the other, and the next optimize fulfils them."""
    repo.branches.create("side")
    more = NodeType("Page", {"text": pa.string()}, indexes={"text": "ngram"})
    other = attrs.evolve(TYPE, indexes={"text": "full_text"})
    repo.evolve(GraphSchema(nodes=[other, more]), branch="side")
    with repo.transaction("side") as tx:
        tx.append("node:Page", [{"id": "p", "text": "words"}])
        tx.append(DOC, docs(500))
    repo.branches.merge("side")
    assert repo.snapshot().schema == GraphSchema(nodes=[other, more])
    assert found(repo, 500) == (["0500"], ["0500"])
    report = repo.optimize()
    assert "text_ngram" in report.tables["node:Page"].indexes
    assert covered(repo).keys() == BUILT - {"place_ivf_flat"}
    assert found(repo, 500) == found(repo, 500, "side") == (["0500"], ["0500"])
