"""Which moment of the graph a namespace is. Pure, but for listing names.

Always: a name means one thing. ``[]`` is the branch main as it is now, ``["branches", name]`` a
branch as it is now, ``["tags", name]`` and ``["commits", id]`` moments that never change. A table
in it is named by its key: ``node:Person``.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from lance_namespace import InvalidInputError, NamespaceNotFoundError

from omnigraph_l2._repository import Repository
from omnigraph_l2._snapshots import Snapshot

__all__ = ["Moment", "listed_namespaces", "named_moment", "named_table"]

_KINDS = {"branches": "branch", "commits": "commit", "tags": "tag"}
_DEPTH = 2


@attrs.frozen
class Moment:
    """What a namespace shows: a branch as it is now, or a tag or a commit for ever."""

    kind: str
    name: str

    @property
    def moves(self) -> bool:
        """Whether it shows something else after a publish."""
        return self.kind == "branch"

    def snapshot(self, repo: Repository) -> Snapshot:
        """Read it."""
        if self.kind == "branch":
            return repo.snapshot(self.name)
        if self.kind == "tag":
            return repo.snapshot(tag=self.name)
        return repo.snapshot(commit=self.name)

    def __str__(self) -> str:
        return f"the {self.kind} {self.name!r}"


def named_moment(path: Sequence[str] | None) -> Moment | None:
    """Give the moment that a namespace shows; None for a folder of namespaces, without tables."""
    parts = list(path or ())
    if not parts:
        return Moment("branch", "main")
    if parts[0] not in _KINDS or len(parts) > _DEPTH:
        msg = (
            f"There is no namespace {parts!r}. There are [] for the branch main, and "
            '["branches", name], ["tags", name] and ["commits", id].'
        )
        raise NamespaceNotFoundError(msg)
    return Moment(_KINDS[parts[0]], parts[1]) if len(parts) == _DEPTH else None


def named_table(table_id: Sequence[str] | None) -> tuple[Moment, str]:
    """Give the moment and the key of a table."""
    parts = list(table_id or ())
    moment = named_moment(parts[:-1]) if parts else None
    if moment is None:
        msg = (
            f"A table is named by its key after its namespace, found {parts!r}: for example "
            '["node:Person"], or ["branches", "dev", "node:Person"].'
        )
        raise InvalidInputError(msg)
    return moment, parts[-1]


def listed_namespaces(repo: Repository, path: Sequence[str] | None) -> list[str]:
    """Name the namespaces below one. Those of commits are not listed: ``repo.log`` has them."""
    if not path:
        return sorted(_KINDS)
    moment = named_moment(path)
    if moment is not None:
        moment.snapshot(repo)
        return []
    if path[0] == "branches":
        return sorted(branch.name for branch in repo.branches.list())
    return sorted(tag.name for tag in repo.tags.list()) if path[0] == "tags" else []
