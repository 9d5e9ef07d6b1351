"""The tables of a moment, their sizes, and how they grew.

Always: rows come from the catalog, for nothing; sizes are asked for only those that are shown. A
table that cannot be opened does not hide the others.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from omnigraph_l2 import GraphCommit, Repository, Snapshot, TableEntry
from omnigraph_l2._explore.moments import snapshot_at
from omnigraph_l2.errors import OmniGraphError

__all__ = ["Growth", "in_order", "tables_page"]

Plain = dict[str, Any]

_AT_ONCE: Final = 8
_MOMENTS: Final = 24
_LOOKED_BACK: Final = 400
_REMEMBERED: Final = 256


def in_order(tables: Mapping[str, TableEntry]) -> list[TableEntry]:
    """Put nodes before edges, each by name."""
    return sorted(tables.values(), key=lambda each: (_kind(each) != "node", each.table_key))


def tables_page(snapshot: Snapshot, offset: int, limit: int) -> Plain:
    """Tell of some tables, and of all of them together."""
    entries = in_order(snapshot.tables)
    page = entries[offset : offset + limit]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        told = list(pool.map(partial(_told, snapshot), page))
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
        "tables": told,
    }


def _told(snapshot: Snapshot, entry: TableEntry) -> Plain:
    told: Plain = {
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
        return told | {"problem": f"{error.kind}: {error}"}
    told["bytes"] = sum(each.size_bytes for each in fragments)
    told["fragments"] = len(fragments)
    return told


def _kind(entry: TableEntry) -> str:
    return entry.table_key.partition(":")[0]


class Growth:
    """Counts the rows of all tables at some of the commits before a moment. Threads may share it.

    What a commit left never changes: it is remembered, as numbers.
    """

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._lock = threading.Lock()
        self._counts: OrderedDict[str, dict[str, int] | None] = OrderedDict()

    def before(self, snapshot: Snapshot) -> Plain:
        """Tell the row counts at evenly chosen commits, oldest first; null where data is gone."""
        chosen = _evenly(self._back_from(snapshot))
        counts = [self._count(snapshot, each) for each in chosen]
        keys = [each.table_key for each in in_order(snapshot.tables)]
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
        """Give the commits that led to a moment, oldest first, as far as anybody looks back."""
        commit = snapshot.commit
        if commit is None:
            return []
        try:
            log = self._repo.log(snapshot.branch, limit=_LOOKED_BACK)
        except OmniGraphError:
            return [commit]  # its branch is deleted
        ids = [each.graph_commit_id for each in log]
        if commit.graph_commit_id not in ids:
            return [commit]
        return log[ids.index(commit.graph_commit_id) :][::-1]

    def _count(self, snapshot: Snapshot, commit: GraphCommit) -> dict[str, int] | None:
        """Count the rows of all tables at a commit; None where it was cleaned up."""
        key = commit.graph_commit_id
        with self._lock:
            if key in self._counts:
                self._counts.move_to_end(key)
                return self._counts[key]
        found: dict[str, int] | None = None
        if snapshot.commit is not None and key == snapshot.commit.graph_commit_id:
            there = snapshot
        else:
            try:
                there = snapshot_at(self._repo, f"commit:{key}")
            except OmniGraphError:
                return None  # asked again next time: a store may have failed just now
        found = {each.table_key: each.row_count for each in there.tables.values()}
        with self._lock:
            self._counts[key] = found
            while len(self._counts) > _REMEMBERED:
                self._counts.popitem(last=False)
        return found


def _evenly(commits: list[GraphCommit]) -> list[GraphCommit]:
    """Choose some, with the first and the last among them."""
    if len(commits) <= _MOMENTS:
        return commits
    last = len(commits) - 1
    return [commits[round(number * last / (_MOMENTS - 1))] for number in range(_MOMENTS)]
