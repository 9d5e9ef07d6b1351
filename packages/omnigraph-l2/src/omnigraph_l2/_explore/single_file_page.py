"""The page as one HTML file that needs no server.

Invariant: the file is bounded in size and in the time to write it. The newest revisions come first;
omitted data is announced in a note and in the view it affects. Equal answers are stored once.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Hashable
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from omnigraph_l2 import Repository
from omnigraph_l2._explore.json_api import JsonApi
from omnigraph_l2._explore.page_assets import build_single_file
from omnigraph_l2._explore.serialize import JsonObject, serialize_error
from omnigraph_l2.errors import InvalidRequest, OmniGraphError

__all__ = ["AnswerRecording", "page", "write_page"]

_COMMITS: Final = 100
_ROWS: Final = 50
_MOST: Final = 500
_BEGINNING: Final = b"<!doctype html>"


def page(repo: Repository, *, commits: int = _COMMITS, rows: int = _ROWS) -> str:
    """Return the page with the newest commits and the first rows of each table."""
    for name, number in (("commits", commits), ("rows", rows)):
        if not 1 <= number <= _MOST:
            reason = f"expected a whole number from 1 to {_MOST}"
            raise InvalidRequest(what=f"number of {name} {number}", reason=reason)
    made = datetime.now(timezone.utc)
    return build_single_file(
        AnswerRecording(JsonApi(repo)).record(made, commits=commits, rows=rows)
    )


def write_page(
    repo: Repository, path: str | os.PathLike[str], *, commits: int = _COMMITS, rows: int = _ROWS
) -> Path:
    """Write the page to a file; replace an existing page atomically."""
    path = Path(path)
    _check_replaceable(path)
    html = page(repo, commits=commits, rows=rows)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        try:
            temporary.write_text(html, encoding="utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error.strerror) from error
    return path


def _check_replaceable(path: Path) -> None:
    """Raise ``InvalidRequest`` if the path is something other than a page."""
    try:
        if os.path.lexists(path) and not (path.is_file() and _is_page(path)):
            raise _unwritable(path, "it exists and is not a page")
    except OSError as error:
        raise _unwritable(path, error.strerror) from error


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)).lower() == _BEGINNING


def _unwritable(path: Path, why: str | None) -> InvalidRequest:
    reason = f"it cannot be written ({why}). Use another file"
    return InvalidRequest(what=f"output file {path}", reason=reason)


_SIZE: Final = 12_000_000
_SECONDS: Final = 60.0
_TABLES: Final = 60
_VERIFY: Final = "verify"


class AnswerRecording:
    """Sends the requests of a page and stores the answers by request."""

    def __init__(self, api: JsonApi, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._clock = clock
        self._end = clock() + _SECONDS
        self._size = 0
        self._places: dict[str, int] = {}
        self._answers: list[JsonObject] = []
        self._same: dict[Hashable, int] = {}

    def record(self, made: datetime, *, commits: int, rows: int) -> JsonObject:
        """Record the history, the newest revisions with all views, and the result of verify."""
        self._ask("about")
        history = self._ask("commits", also={"limit": str(commits)})
        self._ask(_VERIFY)
        revisions = _list_revisions(history)
        complete = 0
        for revision in revisions:
            if self._size > _SIZE or self._clock() > self._end:
                break
            self._record_revision(revision, rows)
            complete += 1
        return {
            "places": self._places,
            "answers": self._answers,
            "notes": [_note(made, len(history.get("commits", [])), complete, len(revisions), rows)],
        }

    def _record_revision(self, at: str, rows: int) -> None:
        tables = self._ask("tables", {"at": at}).get("tables", [])
        pins = tuple(
            (each["key"], each["path"], each["branch"], each["version"]) for each in tables
        )
        self._ask("growth", {"at": at})
        self._ask("schema", {"at": at}, same=("schema", pins))
        for pin in pins[:_TABLES]:
            params = {"at": at, "table": pin[0]}
            self._ask("rows", params, also={"limit": str(rows)}, same=("rows", pin))
        kind, _, commit_id = at.partition(":")
        if kind == "commit":
            changes = self._ask("changes", {"id": commit_id})
            for each in changes.get("tables", [])[:_TABLES]:
                params = {"id": commit_id, "table": each["key"]}
                self._ask("changed-rows", params, also={"limit": str(rows)})

    def _ask(
        self,
        request: str,
        params: dict[str, str] | None = None,
        *,
        also: dict[str, str] | None = None,
        same: Hashable = None,
    ) -> JsonObject:
        """Store the answer to a request; ``same`` is what the answer depends on, if known."""
        pairs = sorted((params or {}).items())
        name = "\n".join([request, *(f"{key}={value}" for key, value in pairs)])
        place = None if same is None else self._same.get(same)
        if place is None:
            place = self._store(self._answer(request, {**(params or {}), **(also or {})}))
            if same is not None:
                self._same[same] = place
        self._places[name] = place
        return self._answers[place]

    def _answer(self, request: str, params: dict[str, str]) -> JsonObject:
        try:
            return self._api.answer(request, params)
        except OmniGraphError as error:
            return serialize_error(error)

    def _store(self, answer: JsonObject) -> int:
        text = json.dumps(answer, sort_keys=True)
        place = self._same.setdefault(text, len(self._answers))
        if place == len(self._answers):
            self._answers.append(answer)
            self._size += len(text)
        return place


def _list_revisions(history: JsonObject) -> list[str]:
    """Return the revisions that can be chosen: heads and tags, then commits, newest first."""
    branches, tags = history.get("branches", []), history.get("tags", [])
    heads = [
        f"branch:{each['name']}" if each["head"] is None else f"commit:{each['head']}"
        for each in branches
    ]
    tagged = [f"commit:{each['commit']}" for each in tags]
    commits = [f"commit:{each['id']}" for each in history.get("commits", [])]
    return list(dict.fromkeys([*heads, *tagged, *commits]))


def _note(made: datetime, commits: int, complete: int, revisions: int, rows: int) -> str:
    recorded = "all" if complete == revisions else f"{complete:,} of {revisions:,}"
    return (
        f"Created on {made:%Y-%m-%d %H:%M} UTC with the newest {commits:,} commits. Tables and "
        f"changes: {recorded} revisions, with up to {rows:,} rows per table. To filter rows and "
        "to see the rest, run `omnigraph explore` on the repository."
    )
