"""Operations that are done once, however long ago that was, and whatever else bore their name."""

from __future__ import annotations

from pathlib import Path

from omnigraph_l2 import GraphSchema, NodeType, Repository

_CITY = "node:City"
_SO_MANY_THAT_THE_CATALOG_FORGETS = 135


def _load(repo: Repository, branch: str) -> bool:
    with repo.transaction(branch, operation_hash="load") as tx:
        tx.append(_CITY, [{"id": "rome"}])
    return tx.is_repeat


def test_one_name_on_two_branches(tmp_path: Path) -> None:
    """Each branch remembers its own, also after the catalog has dropped the rows."""
    schema = GraphSchema(nodes=[NodeType("City")])
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        repo.branches.create("x")
        assert not _load(repo, "x")
        repo.flush()
        assert not _load(repo, "main")
        for number in range(_SO_MANY_THAT_THE_CATALOG_FORGETS):
            with repo.transaction() as tx:
                tx.append(_CITY, [{"id": str(number)}])
        assert _load(repo, "main")
        assert _load(repo, "x")
        repo.branches.create("later")
        assert _load(repo, "later")
