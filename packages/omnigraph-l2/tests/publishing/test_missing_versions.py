"""A version that is not there is never published: nobody could read the table again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph_l1 import table_path
from omnigraph_l2 import GraphSchema, NodeType, RegisterTable, Repository, TableUpdate
from omnigraph_l2.errors import InvalidChange

A, B = "node:A", "node:B"


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """A repository with one empty table."""
    schema = GraphSchema(nodes=[NodeType("A")])
    with Repository.init(tmp_path / "repo", schema, durability="none") as made:
        yield made


@pytest.mark.parametrize("branch", [None, "nowhere", "a\0b"])
def test_a_version_that_is_not_there(repo: Repository, branch: str | None) -> None:
    """Neither the version nor the branch of the dataset is taken on trust."""
    update = TableUpdate(table_key=A, table_version=9, row_count=0, table_branch=branch)
    with pytest.raises(InvalidChange) as raised:
        repo.publish([update])
    assert raised.value.table_key == A
    assert len(repo.log()) == 1
    assert repo.snapshot().read(A).num_rows == 0


def test_a_dataset_that_is_not_there(repo: Repository) -> None:
    """A table that is registered with it shows nothing, too."""
    changes = [
        RegisterTable(table_key=B, table_path=table_path(B)),
        TableUpdate(table_key=B, table_version=1, row_count=0),
    ]
    with pytest.raises(InvalidChange):
        repo.publish(changes)
    assert B not in repo.snapshot().tables
