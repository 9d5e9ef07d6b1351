"""The conflicts of a merge, as a caller is told them."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph_l2 import Repository
from omnigraph_l2.errors import MergeConflict, MergeConflicts


def conflicts(repo: Repository, source: str = "side", into: str = "main") -> list[MergeConflict]:
    """Give the conflicts of a merge, which changes nothing."""
    before = repo.snapshot(into)
    with pytest.raises(MergeConflicts) as raised:
        repo.branches.merge(source, into)
    with pytest.raises(MergeConflicts) as dry:
        repo.branches.merge(source, into, dry_run=True)
    assert dry.value.conflicts == raised.value.conflicts
    assert repo.snapshot(into).version == before.version
    return list(raised.value.conflicts)


def kinds(found: list[MergeConflict]) -> dict[Any, str]:
    """Give the kind of each, by row, or by table."""
    return {each.row_id or each.table_key: each.kind.value for each in found}
