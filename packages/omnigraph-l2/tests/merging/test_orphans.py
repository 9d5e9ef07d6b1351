"""Edges whose node goes in a merge, wherever the edge came from: none is left dangling."""

from __future__ import annotations

from typing import Any

import pytest
from mergework import KNOWS, ages, edge, put, rows

from omnigraph_l2 import Repository
from omnigraph_l2.errors import MergeConflict, MergeConflicts


def assert_whole(repo: Repository) -> None:
    """No edge dangles."""
    report = repo.verify(dangling_edges=True)
    assert report.ok, str(report)


def test_an_edge_that_the_favoured_side_has_had_all_along(repo: Repository) -> None:
    """Theirs moved it to a node that ours deleted, and deleted the one that it was at: it stays
    where it was, and that node with it.
    """
    put(repo, "side", KNOWS, ab=edge("ann", "cat"))
    put(repo, "side", bob=None)
    put(repo, "main", cat=None)
    result = repo.branches.merge("side", strategy="ours")
    assert_whole(repo)
    assert rows(repo, KNOWS)["ab"]["dst"] == "bob"
    assert set(ages(repo)) == {"ann", "bob"}
    assert [each.row_id for each in result.resolved] == ["ab"]


def test_a_function_is_asked_about_edges_that_only_the_target_touched(repo: Repository) -> None:
    """Also where the other side has not touched the table of edges at all."""
    put(repo, "main", KNOWS, ac=edge("ann", "cat"), ca=edge("cat", "ann"))
    put(repo, "side", cat=None)
    asked: list[MergeConflict] = []

    def decide(found: MergeConflict) -> Any:
        asked.append(found)
        return None if found.row_id == "ca" else {**found.ours, "dst": "bob"}

    repo.branches.merge("side", strategy=decide)
    assert {(each.row_id, each.kind.value) for each in asked} == {
        ("ac", "orphan_edge"),
        ("ca", "orphan_edge"),
    }
    assert {each: row["dst"] for each, row in rows(repo, KNOWS).items()} == {
        "ab": "bob",
        "ac": "bob",
    }
    assert_whole(repo)


@pytest.mark.parametrize("into", ["main", "side"])
def test_a_function_that_takes_a_node_away_that_both_have(repo: Repository, into: str) -> None:
    """It is asked about the edges that end there, which nobody has touched; or they are told."""
    put(repo, "side", ann=2)
    put(repo, "main", ann=3)
    source = "side" if into == "main" else "main"
    with pytest.raises(MergeConflicts) as refused:
        repo.branches.merge(
            source,
            into,
            strategy=lambda found: None if found.row_id == "ann" else found.ours,
        )
    assert [(each.row_id, each.detail) for each in refused.value.conflicts] == [
        ("ab", "its src is 'ann'")
    ]
    repo.branches.merge(source, into, strategy=lambda _: None)
    assert rows(repo, KNOWS, into) == {}
    assert set(ages(repo, into)) == {"bob", "cat"}
    assert_whole(repo)
