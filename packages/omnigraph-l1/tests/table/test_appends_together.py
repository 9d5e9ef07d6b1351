"""Appends that are committed together, as one version."""

from __future__ import annotations

import pytest
from people import rows

from omnigraph_l1 import Table
from omnigraph_l1.errors import InvalidRequest


def test_appends_are_committed_together(base: Table) -> None:
    """Several are one version, in their order; what was written elsewhere may be among them."""
    parts = [base.stage_append(rows(name)) for name in ("x", "y")]
    parts.append(base.stage_written([base.write_target.write(rows("z"))]))
    base.append(rows("stranger"))
    restored = base.restore(base.version).table
    together = restored.stage_together(parts)
    assert (together.rows_inserted, together.base_version) == (3, restored.version)
    commit = restored.commit(together)
    assert commit.follows_base
    assert commit.table.read(columns=["id"])["id"].to_pylist() == ["a", "b", "c", "x", "y", "z"]
    row_ids = commit.table.read(with_row_id=True)["_rowid"].to_pylist()
    assert len(set(row_ids)) == len(row_ids)


def test_no_appends_together_are_no_commit(base: Table) -> None:
    """Nothing, or empty ones: the version stays."""
    assert not base.commit(base.stage_together([])).changed
    assert not base.commit(base.stage_together([base.stage_append(rows())])).changed


def test_what_is_no_append_cannot_be_committed_together(base: Table) -> None:
    """Lance would double rows; the same change twice would, too; another table's cannot be read."""
    append = base.stage_append(rows("x"))
    with pytest.raises(InvalidRequest, match="appends can be committed together, not upsert"):
        base.stage_together([append, base.stage_upsert(rows("a"), "id")])
    with pytest.raises(InvalidRequest, match="stands twice"):
        base.stage_together([append, append])
    branch = base.fork("side.1")
    with pytest.raises(InvalidRequest, match="not here"):
        branch.stage_together([append])
    assert base.refresh() is base
