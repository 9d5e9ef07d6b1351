"""The commit graph, page by page: commits with their positions, branches and tags.

Invariant: pages of one history are consistent. After a head has moved, the history starts again.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Final

from omnigraph_l2 import Branch, Repository, Tag
from omnigraph_l2._explore.commit_stream import CommitStream
from omnigraph_l2._explore.graph_lanes import Lanes
from omnigraph_l2._explore.serialize import (
    JsonObject,
    serialize_branch,
    serialize_commit,
    serialize_tag,
)
from omnigraph_l2.errors import OmniGraphError

__all__ = ["HistoryPages"]

_BRANCHES: Final = 100
_NAMED: Final = 1_000
_COLOURS: Final = 8
_MAIN: Final = "main"


class HistoryPages:
    """Returns pages of the history. It is thread-safe."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._lock = threading.Lock()
        self._known: _History | None = None

    def page(self, offset: int, limit: int, heads: str | None) -> JsonObject:
        """Return commits, newest first; ``heads`` is the value of the first page."""
        with self._lock:
            known = self._known
            if known is None or not offset or known.heads != heads:
                known, offset = _History(self._repo), 0
                self._known = known
            return known.page(offset, limit)

    def names(self) -> dict[str | None, str]:
        """Return the names of native branches."""
        return _names(self._repo.branches.list())


class _History:
    """The history as of one point in time."""

    def __init__(self, repo: Repository) -> None:
        branches = repo.branches.list()
        self._tags, self._notes = _tags(repo)
        self._names = _names(branches)
        followed = _newest(branches)
        if len(followed) < len(branches):
            rest = len(branches) - len(followed)
            self._notes.append(
                f"The graph shows main and the {len(followed) - 1} most recently changed branches. "
                f"{rest:,} more branches are not shown."
            )
        heads = {each.name: head for each in followed if (head := _head(repo, each, self._notes))}
        self._branches = [
            serialize_branch(each) | {"head": heads.get(each.name, each.head_commit_id)}
            for each in branches[:_NAMED]
        ]
        if len(branches) > _NAMED:
            self._notes.append(f"{len(branches) - _NAMED:,} branches are not listed.")
        natives = {each.native_branch for each in followed if each.name in heads}
        elsewhere = (
            each.graph_commit_id for each in self._tags if each.native_branch not in natives
        )
        self._streams = CommitStream(repo, heads, natives, elsewhere)
        self._lanes = Lanes()
        self._colours: dict[str | None, int] = {None: 0}
        self._rows: list[JsonObject] = []
        self._more = self._place_commits()
        heads_text = "\n".join([*map(repr, sorted(heads.items())), *map(repr, self._tags)])
        self.heads = hashlib.sha256(heads_text.encode("utf-8", "replace")).hexdigest()[:16]

    def page(self, offset: int, limit: int) -> JsonObject:
        """Return some of the commits; one more is read to find out whether there are more."""
        missing = offset + limit + 1 - len(self._rows)
        self._rows.extend(islice(self._more, max(missing, 0)))
        page: JsonObject = {
            "heads": self.heads,
            "offset": offset,
            "commits": self._rows[offset : offset + limit],
            "more": len(self._rows) > offset + limit,
            "notes": [*self._notes, *self._streams.problems],
        }
        if not offset:
            page["branches"] = self._branches
            page["tags"] = [serialize_tag(each) for each in self._tags[:_NAMED]]
        return page

    def _place_commits(self) -> Iterator[JsonObject]:
        for commit in self._streams.newest_first():
            native = commit.manifest_branch
            colour = self._colour(native)
            parents = [(commit.parent_commit_id, colour)]
            if commit.merged_parent_commit_id is not None:
                merged = self._streams.native_of(commit.merged_parent_commit_id, native)
                parents.append((commit.merged_parent_commit_id, self._colour(merged)))
            location = self._lanes.place(
                commit.graph_commit_id,
                [(parent, line) for parent, line in parents if parent is not None],
                main=native is None,
            )
            yield {
                **serialize_commit(commit, self._names),
                "colour": colour,
                "lane": location.lane,
                "through": location.through,
                "above": location.above,
                "below": location.below,
            }

    def _colour(self, native: str | None) -> int:
        """Return the colour of a branch, in order of appearance; main has the first."""
        return self._colours.setdefault(native, 1 + (len(self._colours) - 1) % (_COLOURS - 1))


def _names(branches: list[Branch]) -> dict[str | None, str]:
    return {each.native_branch: each.name for each in branches}


def _newest(branches: list[Branch]) -> list[Branch]:
    """Return the branches to draw: main and the most recently changed ones."""
    others = [each for each in branches if each.name != _MAIN]
    if len(others) >= _BRANCHES:
        others.sort(key=lambda each: "" if each.updated_at is None else each.updated_at.isoformat())
        others = others[:-_BRANCHES:-1]
    return [*(each for each in branches if each.name == _MAIN), *others]


def _head(repo: Repository, branch: Branch, notes: list[str]) -> str | None:
    """Return the newest commit of a branch; add a note if the branch cannot be read."""
    try:
        commits = repo.log(branch.name, limit=1)
    except OmniGraphError as error:
        notes.append(f"Cannot read branch {branch.name!r} ({error.kind}): {error}")
        return None
    return commits[0].graph_commit_id if commits else None


def _tags(repo: Repository) -> tuple[list[Tag], list[str]]:
    try:
        tags = repo.tags.list()
    except OmniGraphError as error:
        return [], [f"Cannot read the tags ({error.kind}): {error}"]
    if len(tags) > _NAMED:
        return tags[:_NAMED], [f"{len(tags) - _NAMED:,} tags are not listed."]
    return tags, []
