"""The commit graph, page by page: commits with their place, branches and tags.

Always: pages of one history fit together. It is begun anew when a head has moved.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from omnigraph_l2 import Branch, Repository, Tag
from omnigraph_l2._explore.lanes import Lanes
from omnigraph_l2._explore.streams import Streams
from omnigraph_l2._explore.told import branch_told, commit_told, tag_told
from omnigraph_l2.errors import OmniGraphError

__all__ = ["Histories"]

Plain = dict[str, Any]

_BRANCHES: Final = 100
_NAMED: Final = 1_000
_COLOURS: Final = 8
_MAIN: Final = "main"


class Histories:
    """Gives pages of the history. Threads may share it."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._lock = threading.Lock()
        self._known: _History | None = None

    def page(self, offset: int, limit: int, heads: str | None) -> Plain:
        """Give commits, newest first; ``heads`` is what the first page said."""
        with self._lock:
            known = self._known
            if known is None or not offset or known.heads != heads:
                known, offset = _History(self._repo), 0
                self._known = known
            return known.page(offset, limit)

    def names(self) -> dict[str | None, str]:
        """Give the names of native branches."""
        return _names(self._repo.branches.list())


class _History:
    """The history as it was when somebody looked."""

    def __init__(self, repo: Repository) -> None:
        branches = repo.branches.list()
        self._tags, self._notes = _tags(repo)
        self._names = _names(branches)
        followed = _newest(branches)
        if len(followed) < len(branches):
            rest = len(branches) - len(followed)
            self._notes.append(
                f"The graph shows main and the {len(followed) - 1} other branches that were "
                f"changed last; {rest:,} more are there."
            )
        heads = {each.name: head for each in followed if (head := _head(repo, each, self._notes))}
        self._branches = [
            branch_told(each) | {"head": heads.get(each.name, each.head_commit_id)}
            for each in branches[:_NAMED]
        ]
        if len(branches) > _NAMED:
            self._notes.append(f"{len(branches) - _NAMED:,} branches are not named here.")
        natives = {each.native_branch for each in followed if each.name in heads}
        elsewhere = (
            each.graph_commit_id for each in self._tags if each.native_branch not in natives
        )
        self._streams = Streams(repo, heads, natives, elsewhere)
        self._lanes = Lanes()
        self._colours: dict[str | None, int] = {None: 0}
        self._rows: list[Plain] = []
        self._more = self._placed()
        told = "\n".join([*map(repr, sorted(heads.items())), *map(repr, self._tags)])
        self.heads = hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]

    def page(self, offset: int, limit: int) -> Plain:
        """Give some of the commits; one more is read, to tell whether there are more."""
        missing = offset + limit + 1 - len(self._rows)
        self._rows.extend(islice(self._more, max(missing, 0)))
        page: Plain = {
            "heads": self.heads,
            "offset": offset,
            "commits": self._rows[offset : offset + limit],
            "more": len(self._rows) > offset + limit,
            "notes": [*self._notes, *self._streams.problems],
        }
        if not offset:
            page["branches"] = self._branches
            page["tags"] = [tag_told(each) for each in self._tags[:_NAMED]]
        return page

    def _placed(self) -> Iterator[Plain]:
        for commit in self._streams.newest_first():
            native = commit.manifest_branch
            colour = self._colour(native)
            parents = [(commit.parent_commit_id, colour)]
            if commit.merged_parent_commit_id is not None:
                merged = self._streams.native_of(commit.merged_parent_commit_id, native)
                parents.append((commit.merged_parent_commit_id, self._colour(merged)))
            place = self._lanes.place(
                commit.graph_commit_id,
                [(parent, line) for parent, line in parents if parent is not None],
                main=native is None,
            )
            yield {
                **commit_told(commit, self._names),
                "colour": colour,
                "lane": place.lane,
                "through": place.through,
                "above": place.above,
                "below": place.below,
            }

    def _colour(self, native: str | None) -> int:
        """Give each branch a colour, in the order in which they are met; main has the first."""
        return self._colours.setdefault(native, 1 + (len(self._colours) - 1) % (_COLOURS - 1))


def _names(branches: list[Branch]) -> dict[str | None, str]:
    return {each.native_branch: each.name for each in branches}


def _newest(branches: list[Branch]) -> list[Branch]:
    """Choose the branches that are drawn: main, and those that were changed last."""
    others = [each for each in branches if each.name != _MAIN]
    if len(others) >= _BRANCHES:
        others.sort(key=lambda each: "" if each.updated_at is None else each.updated_at.isoformat())
        others = others[:-_BRANCHES:-1]
    return [*(each for each in branches if each.name == _MAIN), *others]


def _head(repo: Repository, branch: Branch, notes: list[str]) -> str | None:
    """Find the newest commit of a branch; one that cannot be read does not hide the others."""
    try:
        commits = repo.log(branch.name, limit=1)
    except OmniGraphError as error:
        notes.append(f"Branch {branch.name!r} cannot be read ({error.kind}): {error}")
        return None
    return commits[0].graph_commit_id if commits else None


def _tags(repo: Repository) -> tuple[list[Tag], list[str]]:
    try:
        tags = repo.tags.list()
    except OmniGraphError as error:
        return [], [f"The tags cannot be read ({error.kind}): {error}"]
    if len(tags) > _NAMED:
        return tags[:_NAMED], [f"{len(tags) - _NAMED:,} tags are not named here."]
    return tags, []
