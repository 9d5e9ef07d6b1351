"""What can be asked about a repository, and the answers: plain data, ready for JSON.

Always: read only, through the public names of this package; every answer is bounded, whatever the
repository holds, and says what it left out. What goes wrong is a typed error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from omnigraph_l2 import Repository
from omnigraph_l2._explore.asked import Asked
from omnigraph_l2._explore.changed_rows import changed_rows
from omnigraph_l2._explore.changes import changes_of
from omnigraph_l2._explore.history import Histories
from omnigraph_l2._explore.moments import snapshot_at
from omnigraph_l2._explore.rows import rows_page
from omnigraph_l2._explore.tables import Growth, tables_page
from omnigraph_l2._explore.told import commit_told
from omnigraph_l2._explore.types import schema_told
from omnigraph_l2.errors import InvalidRequest, NotFound

__all__ = ["Answers", "NoSuchQuestion"]

Plain = dict[str, Any]

_COMMITS: Final = 100
_TABLES: Final = 100
_ROWS: Final = 50
_MOST: Final = 500
_FAR: Final = 10**12
_FINDINGS: Final = 500


class NoSuchQuestion(NotFound):
    """Nothing can be asked under that name."""

    kind = "no_such_question"

    def __str__(self) -> str:
        return "Nothing can be asked under that name."


class Answers:
    """Answers questions about one repository. Threads may share it."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._histories = Histories(repo)
        self._growth = Growth(repo)
        self._verifying = threading.Lock()
        self._known: Mapping[str, Callable[[Asked], Plain]] = {
            "about": self._about,
            "commits": self._commits,
            "commit": self._commit,
            "changes": self._changes,
            "changed-rows": self._changed_rows,
            "tables": self._tables,
            "growth": self._grown,
            "rows": self._rows,
            "schema": self._schema,
            "verify": self._verify,
        }

    def answer(self, question: str, given: Mapping[str, str]) -> Plain:
        """Answer one question, or raise an ``OmniGraphError``."""
        found = self._known.get(question)
        if found is None:
            raise NoSuchQuestion
        return found(Asked(question, given))

    def _about(self, asked: Asked) -> Plain:
        asked.check_done()
        uri = self._repo.uri
        return {"uri": uri, "name": uri.rstrip("/").rpartition("/")[2] or uri}

    def _commits(self, asked: Asked) -> Plain:
        offset = asked.number("offset", default=0, most=_FAR)
        limit = asked.number("limit", default=_COMMITS, most=_MOST)
        heads = asked.text_or_none("heads")
        asked.check_done()
        return self._histories.page(offset, limit, heads)

    def _commit(self, asked: Asked) -> Plain:
        commit_id = asked.text("id")
        asked.check_done()
        return commit_told(self._repo.commit(commit_id), self._histories.names())

    def _changes(self, asked: Asked) -> Plain:
        commit_id = asked.text("id")
        only = asked.text_or_none("table")
        asked.check_done()
        return changes_of(self._repo, commit_id, only=only)

    def _changed_rows(self, asked: Asked) -> Plain:
        commit_id, table_key = asked.text("id"), asked.text("table")
        kind = asked.text_or_none("kind")
        skip = asked.number("skip", default=0, most=_FAR)
        limit = asked.number("limit", default=_ROWS, most=_MOST)
        asked.check_done()
        return changed_rows(self._repo, commit_id, table_key, kind=kind, skip=skip, limit=limit)

    def _tables(self, asked: Asked) -> Plain:
        at = asked.text("at")
        offset = asked.number("offset", default=0, most=_FAR)
        limit = asked.number("limit", default=_TABLES, most=_MOST)
        asked.check_done()
        return tables_page(snapshot_at(self._repo, at), offset, limit)

    def _grown(self, asked: Asked) -> Plain:
        at = asked.text("at")
        asked.check_done()
        return self._growth.before(snapshot_at(self._repo, at))

    def _rows(self, asked: Asked) -> Plain:
        at, table_key = asked.text("at"), asked.text("table")
        filter_, start = asked.text_or_none("filter"), asked.text_or_none("from")
        limit = asked.number("limit", default=_ROWS, most=_MOST)
        asked.check_done()
        if not limit:
            raise InvalidRequest(what="Reading rows", reason="a page has at least one row")
        snapshot = snapshot_at(self._repo, at)
        return rows_page(snapshot, table_key, filter_=filter_, start=start, limit=limit)

    def _schema(self, asked: Asked) -> Plain:
        at = asked.text("at")
        asked.check_done()
        return schema_told(snapshot_at(self._repo, at))

    def _verify(self, asked: Asked) -> Plain:
        duplicates, dangling = asked.yes("duplicates"), asked.yes("dangling")
        asked.check_done()
        with self._verifying:  # one at a time: it reads much
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
