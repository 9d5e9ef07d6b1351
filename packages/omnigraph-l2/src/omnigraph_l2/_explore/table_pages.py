"""The tables of a revision, their sizes and their growth.

Invariant: row counts come from the catalog at no cost; sizes are read only for the tables of the
page. A table that cannot be opened does not hide the others.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from omnigraph_l2 import GraphCommit, Repository, Snapshot, TableEntry
from omnigraph_l2._explore.serialize import JsonObject
from omnigraph_l2._explore.snapshot_lookup import open_snapshot
from omnigraph_l2.errors import OmniGraphError

__all__ = ["TableGrowth", "read_table_page", "sort_tables"]

_AT_ONCE: Final = 8
_POINTS: Final = 24
_LOG_LIMIT: Final = 400
_CACHED: Final = 256


def sort_tables(tables: Mapping[str, TableEntry]) -> list[TableEntry]:
    """Sort nodes before edges, each by name."""
    return sorted(tables.values(), key=lambda each: (_kind(each) != "node", each.table_key))


def read_table_page(snapshot: Snapshot, offset: int, limit: int) -> JsonObject:
    """Return a page of tables, and totals over all tables."""
    entries = sort_tables(snapshot.tables)
    page = entries[offset : offset + limit]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        described = list(pool.map(partial(_describe_table, snapshot), page))
    by_kind = {
        kind: sum(each.row_count for each in entries if _kind(each) == kind)
        for kind in ("node", "edge")
    }
    return {
        "version": snapshot.version,
        "branch": snapshot.branch,
        "commit": None if snapshot.commit is None else snapshot.commit.graph_commit_id,
        "count": len(entries),
        "nodes": by_kind["node"],
        "edges": by_kind["edge"],
        "offset": offset,
        "tables": described,
    }


def _describe_table(snapshot: Snapshot, entry: TableEntry) -> JsonObject:
    table: JsonObject = {
        "key": entry.table_key,
        "kind": _kind(entry),
        "name": entry.table_key.partition(":")[2],
        "rows": entry.row_count,
        "version": entry.table_version,
        "branch": entry.table_branch,
        "path": entry.table_path,
        "bytes": None,
        "fragments": None,
        "problem": None,
    }
    try:
        fragments = snapshot.share(entry.table_key).fragments()
    except OmniGraphError as error:
        return table | {"problem": f"{error.kind}: {error}"}
    table["bytes"] = sum(each.size_bytes for each in fragments)
    table["fragments"] = len(fragments)
    return table


def _kind(entry: TableEntry) -> str:
    return entry.table_key.partition(":")[0]


class TableGrowth:
    """Counts the rows of all tables at some commits before a revision. It is thread-safe.

    The counts of a commit never change and are cached.
    """

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._lock = threading.Lock()
        self._counts: OrderedDict[str, dict[str, int] | None] = OrderedDict()

    def before(self, snapshot: Snapshot) -> JsonObject:
        """Return row counts at evenly spaced commits, oldest first; null after a cleanup."""
        chosen = _choose_evenly(self._back_from(snapshot))
        counts = [self._count(snapshot, each) for each in chosen]
        keys = [each.table_key for each in sort_tables(snapshot.tables)]
        return {
            "moments": [
                {"id": each.graph_commit_id, "at": each.created_at.isoformat()} for each in chosen
            ],
            "tables": {
                key: [None if found is None else found.get(key, 0) for found in counts]
                for key in keys
            },
        }

    def _back_from(self, snapshot: Snapshot) -> list[GraphCommit]:
        """Return the commits up to a revision, oldest first, up to a limit."""
        commit = snapshot.commit
        if commit is None:
            return []
        try:
            log = self._repo.log(snapshot.branch, limit=_LOG_LIMIT)
        except OmniGraphError:
            return [commit]  # its branch is deleted
        ids = [each.graph_commit_id for each in log]
        if commit.graph_commit_id not in ids:
            return [commit]
        return log[ids.index(commit.graph_commit_id) :][::-1]

    def _count(self, snapshot: Snapshot, commit: GraphCommit) -> dict[str, int] | None:
        """Return the row counts of all tables at a commit; None if it was cleaned up."""
        key = commit.graph_commit_id
        with self._lock:
            if key in self._counts:
                self._counts.move_to_end(key)
                return self._counts[key]
        found: dict[str, int] | None = None
        if snapshot.commit is not None and key == snapshot.commit.graph_commit_id:
            at_commit = snapshot
        else:
            try:
                at_commit = open_snapshot(self._repo, f"commit:{key}")
            except OmniGraphError:
                return None  # not cached, because the store may have failed temporarily
        found = {each.table_key: each.row_count for each in at_commit.tables.values()}
        with self._lock:
            self._counts[key] = found
            while len(self._counts) > _CACHED:
                self._counts.popitem(last=False)
        return found


def _choose_evenly(commits: list[GraphCommit]) -> list[GraphCommit]:
    """Return evenly spaced commits, including the first and the last."""
    if len(commits) <= _POINTS:
        return commits
    last = len(commits) - 1
    return [commits[round(number * last / (_POINTS - 1))] for number in range(_POINTS)]
