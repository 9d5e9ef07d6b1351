"""What a commit changed, in each table.

Always: nothing is compared before it is known how much that is. What would take long is told as "at
most so many rows", and counted when somebody asks for just that table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from omnigraph_l2 import Diff, DiffPart, Repository, Snapshot, TableDiff
from omnigraph_l2._explore.moments import before_and_after

__all__ = ["changes_of", "diff_of_commit", "rows_to_compare", "size_of_a_row", "too_many"]

Plain = dict[str, Any]

_ROWS_AT_MOST: Final = 300_000
_BYTES_AT_MOST: Final = 1_000_000_000
_SECONDS: Final = 6.0
_TABLES: Final = 400


def changes_of(
    repo: Repository,
    commit_id: str,
    *,
    only: str | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Plain:
    """Tell what a commit changed in each table; in ``only`` that one, however long it takes."""
    diff = diff_of_commit(repo, commit_id)
    keys = sorted({*diff.before.tables, *diff.after.tables})
    differing = [key for key in keys if _pin(diff.before, key) != _pin(diff.after, key)]
    if only is not None:
        diff.share(only)  # an unknown table is told as one
        differing = [key for key in differing if key == only]
    end = clock() + _SECONDS
    told = []
    for key in differing[:_TABLES]:
        parts = diff.share(key) if only is None and clock() < end else None
        if only is not None or (parts is not None and not too_many(parts)):
            found = repo.diff(diff.before, diff.after, tables=[key]).tables.get(key)
            told += [] if found is None else [_counted(found)]
        else:
            at_most = None if parts is None else rows_to_compare(parts)
            told.append({"key": key, "change": _change(diff, key), "at_most": at_most})
    return {"id": commit_id, "tables": told, "left_out": max(len(differing) - _TABLES, 0)}


def diff_of_commit(repo: Repository, commit_id: str) -> Diff:
    """Compare a commit with its first parent, or with nothing where it is the first."""
    before, after = before_and_after(repo, repo.commit(commit_id))
    return repo.diff(before, after)


def rows_to_compare(parts: Sequence[DiffPart]) -> int:
    """Tell how many rows have to be read to find out which differ."""
    return sum(
        each.rows_at_most for each in parts if each.before is not None and each.after is not None
    )


def too_many(parts: Sequence[DiffPart]) -> bool:
    """Tell whether comparing would take long."""
    rows = rows_to_compare(parts)
    return rows > _ROWS_AT_MOST or rows * size_of_a_row(parts) > _BYTES_AT_MOST


def size_of_a_row(parts: Sequence[DiffPart]) -> int:
    """Tell how many bytes a row has in files, on average."""
    most = 0
    for target in {id(t): t for each in parts for t in (each.before, each.after) if t}.values():
        fragments = target.fragments()
        rows = sum(each.rows for each in fragments)
        most = max(most, sum(each.size_bytes for each in fragments) // max(rows, 1))
    return most


def _pin(snapshot: Snapshot, key: str) -> tuple[str, str | None, int] | None:
    entry = snapshot.tables.get(key)
    return None if entry is None else (entry.table_path, entry.table_branch, entry.table_version)


def _counted(found: TableDiff) -> Plain:
    return {
        "key": found.table_key,
        "change": found.change.value,
        "at_most": None,
        "inserted": found.inserted,
        "updated": found.updated,
        "deleted": found.deleted,
        "added_properties": list(found.added_properties),
        "removed_properties": list(found.removed_properties),
    }


def _change(diff: Diff, key: str) -> str:
    if key not in diff.before.tables:
        return "added"
    return "changed" if key in diff.after.tables else "removed"
