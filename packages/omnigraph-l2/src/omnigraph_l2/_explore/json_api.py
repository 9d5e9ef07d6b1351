"""The requests of the page and their answers, as JSON objects.

Invariant: requests only read, through the public names of this package. Every answer is bounded,
whatever the repository contains, and states what it omits. Failures are typed errors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final

from omnigraph_l2 import Repository
from omnigraph_l2._explore.commit_changes import list_changes, read_changed_rows
from omnigraph_l2._explore.history_pages import HistoryPages
from omnigraph_l2._explore.query_params import QueryParams
from omnigraph_l2._explore.row_pages import read_row_page
from omnigraph_l2._explore.serialize import JsonObject, serialize_commit, serialize_schema
from omnigraph_l2._explore.snapshot_lookup import open_snapshot
from omnigraph_l2._explore.table_pages import TableGrowth, read_table_page
from omnigraph_l2.errors import InvalidRequest, NotFound

__all__ = ["JsonApi", "NoSuchQuestion"]

_COMMITS: Final = 100
_TABLES: Final = 100
_ROWS: Final = 50
_MOST: Final = 500
_LARGEST_OFFSET: Final = 10**12
_FINDINGS: Final = 500


class NoSuchQuestion(NotFound):
    """The request is unknown."""

    kind = "no_such_question"

    def __str__(self) -> str:
        return "Unknown request."


class JsonApi:
    """Answers requests about one repository. It is thread-safe."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._histories = HistoryPages(repo)
        self._growth = TableGrowth(repo)
        self._verifying = threading.Lock()
        self._handlers: Mapping[str, Callable[[QueryParams], JsonObject]] = {
            "about": self._about,
            "commits": self._commits,
            "commit": self._commit,
            "changes": self._changes,
            "changed-rows": self._changed_rows,
            "tables": self._tables,
            "growth": self._read_growth,
            "rows": self._rows,
            "schema": self._schema,
            "verify": self._verify,
        }

    def answer(self, request: str, query: Mapping[str, str]) -> JsonObject:
        """Answer one request, or raise an ``OmniGraphError``."""
        found = self._handlers.get(request)
        if found is None:
            raise NoSuchQuestion
        return found(QueryParams(request, query))

    def _about(self, params: QueryParams) -> JsonObject:
        params.check_complete()
        uri = self._repo.uri
        return {"uri": uri, "name": uri.rstrip("/").rpartition("/")[2] or uri}

    def _commits(self, params: QueryParams) -> JsonObject:
        offset = params.number("offset", default=0, most=_LARGEST_OFFSET)
        limit = params.number("limit", default=_COMMITS, most=_MOST)
        heads = params.text_or_none("heads")
        params.check_complete()
        return self._histories.page(offset, limit, heads)

    def _commit(self, params: QueryParams) -> JsonObject:
        commit_id = params.text("id")
        params.check_complete()
        return serialize_commit(self._repo.commit(commit_id), self._histories.names())

    def _changes(self, params: QueryParams) -> JsonObject:
        commit_id = params.text("id")
        only = params.text_or_none("table")
        params.check_complete()
        return list_changes(self._repo, commit_id, only=only)

    def _changed_rows(self, params: QueryParams) -> JsonObject:
        commit_id, table_key = params.text("id"), params.text("table")
        kind = params.text_or_none("kind")
        skip = params.number("skip", default=0, most=_LARGEST_OFFSET)
        limit = params.number("limit", default=_ROWS, most=_MOST)
        params.check_complete()
        return read_changed_rows(
            self._repo, commit_id, table_key, kind=kind, skip=skip, limit=limit
        )

    def _tables(self, params: QueryParams) -> JsonObject:
        at = params.text("at")
        offset = params.number("offset", default=0, most=_LARGEST_OFFSET)
        limit = params.number("limit", default=_TABLES, most=_MOST)
        params.check_complete()
        return read_table_page(open_snapshot(self._repo, at), offset, limit)

    def _read_growth(self, params: QueryParams) -> JsonObject:
        at = params.text("at")
        params.check_complete()
        return self._growth.before(open_snapshot(self._repo, at))

    def _rows(self, params: QueryParams) -> JsonObject:
        at, table_key = params.text("at"), params.text("table")
        filter_, start = params.text_or_none("filter"), params.text_or_none("from")
        limit = params.number("limit", default=_ROWS, most=_MOST)
        params.check_complete()
        if not limit:
            raise InvalidRequest(what=f"limit {limit}", reason="expected a whole number >= 1")
        snapshot = open_snapshot(self._repo, at)
        return read_row_page(snapshot, table_key, filter_=filter_, start=start, limit=limit)

    def _schema(self, params: QueryParams) -> JsonObject:
        at = params.text("at")
        params.check_complete()
        return serialize_schema(open_snapshot(self._repo, at))

    def _verify(self, params: QueryParams) -> JsonObject:
        duplicates, dangling = params.flag("duplicates"), params.flag("dangling")
        params.check_complete()
        with self._verifying:  # one at a time, because it reads much data
            report = self._repo.verify(duplicates=duplicates, dangling_edges=dangling)
        return {
            "ok": report.ok,
            "checked": dict(report.checked),
            "findings": [
                {
                    "severity": each.severity.value,
                    "kind": each.kind,
                    "subject": each.subject,
                    "detail": each.detail,
                    "remedy": each.remedy,
                }
                for each in report.findings[:_FINDINGS]
            ],
            "left_out": max(len(report.findings) - _FINDINGS, 0),
        }
