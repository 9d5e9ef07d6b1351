"""Answers written down, for a page that has no server: as many as fit, the newest moments first.

Always: bounded in size and time. What is not in it is told: by a note, and by the page where it is
asked for. The same answer is written down once, however many moments give it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Any, Final

from omnigraph_l2._explore.answers import Answers
from omnigraph_l2._explore.told import problem_told
from omnigraph_l2.errors import OmniGraphError

__all__ = ["Recording"]

Plain = dict[str, Any]

_SIZE: Final = 12_000_000
_SECONDS: Final = 60.0
_TABLES: Final = 60
_VERIFY: Final = "verify"


class Recording:
    """Asks what a page would ask, and keeps the answers under the names by which it asks."""

    def __init__(self, answers: Answers, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = answers
        self._clock = clock
        self._end = clock() + _SECONDS
        self._size = 0
        self._places: dict[str, int] = {}
        self._answers: list[Plain] = []
        self._same: dict[Hashable, int] = {}

    def everything(self, made: datetime, *, commits: int, rows: int) -> Plain:
        """Record the history, the newest moments with all that they show, and what verify says."""
        self._ask("about")
        history = self._ask("commits", also={"limit": str(commits)})
        self._ask(_VERIFY)
        moments = _moments(history)
        whole = 0
        for moment in moments:
            if self._size > _SIZE or self._clock() > self._end:
                break
            self._moment(moment, rows)
            whole += 1
        return {
            "places": self._places,
            "answers": self._answers,
            "notes": [_note(made, len(history.get("commits", [])), whole, len(moments), rows)],
        }

    def _moment(self, at: str, rows: int) -> None:
        tables = self._ask("tables", {"at": at}).get("tables", [])
        pins = tuple(
            (each["key"], each["path"], each["branch"], each["version"]) for each in tables
        )
        self._ask("growth", {"at": at})
        self._ask("schema", {"at": at}, same=("schema", pins))
        for pin in pins[:_TABLES]:
            given = {"at": at, "table": pin[0]}
            self._ask("rows", given, also={"limit": str(rows)}, same=("rows", pin))
        kind, _, commit_id = at.partition(":")
        if kind == "commit":
            changes = self._ask("changes", {"id": commit_id})
            for each in changes.get("tables", [])[:_TABLES]:
                given = {"id": commit_id, "table": each["key"]}
                self._ask("changed-rows", given, also={"limit": str(rows)})

    def _ask(
        self,
        question: str,
        given: dict[str, str] | None = None,
        *,
        also: dict[str, str] | None = None,
        same: Hashable = None,
    ) -> Plain:
        """Keep the answer to a question; ``same`` is what it depends on, where that is known."""
        pairs = sorted((given or {}).items())
        name = "\n".join([question, *(f"{key}={value}" for key, value in pairs)])
        place = None if same is None else self._same.get(same)
        if place is None:
            place = self._kept(self._answer(question, {**(given or {}), **(also or {})}))
            if same is not None:
                self._same[same] = place
        self._places[name] = place
        return self._answers[place]

    def _answer(self, question: str, given: dict[str, str]) -> Plain:
        try:
            return self._source.answer(question, given)
        except OmniGraphError as error:
            return problem_told(error)

    def _kept(self, answer: Plain) -> int:
        text = json.dumps(answer, sort_keys=True)
        place = self._same.setdefault(text, len(self._answers))
        if place == len(self._answers):
            self._answers.append(answer)
            self._size += len(text)
        return place


def _moments(history: Plain) -> list[str]:
    """Name the moments that can be chosen: heads and tags first, then commits, newest first."""
    branches, tags = history.get("branches", []), history.get("tags", [])
    heads = [
        f"branch:{each['name']}" if each["head"] is None else f"commit:{each['head']}"
        for each in branches
    ]
    tagged = [f"commit:{each['commit']}" for each in tags]
    commits = [f"commit:{each['id']}" for each in history.get("commits", [])]
    return list(dict.fromkeys([*heads, *tagged, *commits]))


def _note(made: datetime, commits: int, whole: int, moments: int, rows: int) -> str:
    held = "all of them" if whole == moments else f"{whole:,} of {moments:,} moments"
    return (
        f"A copy made on {made:%Y-%m-%d %H:%M} UTC: the newest {commits:,} commits, {held} with "
        f"their tables and changes, and up to {rows:,} rows of each table. To filter, and to see "
        "the rest, run `omnigraph explore` on the repository."
    )
