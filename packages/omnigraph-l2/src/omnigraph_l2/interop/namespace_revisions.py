"""The revision of the graph that a namespace shows. Pure, except that names are listed.

``[]`` is the current head of main, ``["branches", name]`` the current head of a branch. ``["tags",
name]`` and ``["commits", id]`` are revisions that never change. A table is named by its key:
``node:Person``.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from lance_namespace import InvalidInputError, NamespaceNotFoundError

from omnigraph_l2._api.repository import Repository
from omnigraph_l2._branch.snapshot import Snapshot

__all__ = ["NamespaceRevision", "child_namespaces", "resolve_table", "revision_of_namespace"]

_KINDS = {"branches": "branch", "commits": "commit", "tags": "tag"}
_DEPTH = 2


@attrs.frozen
class NamespaceRevision:
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


def revision_of_namespace(path: Sequence[str] | None) -> NamespaceRevision | None:
    """Return the revision that a namespace shows; None for a namespace without tables."""
    parts = list(path or ())
    if not parts:
        return NamespaceRevision("branch", "main")
    if parts[0] not in _KINDS or len(parts) > _DEPTH:
        msg = (
            f"There is no namespace {parts!r}. There are [] for the branch main, and "
            '["branches", name], ["tags", name] and ["commits", id].'
        )
        raise NamespaceNotFoundError(msg)
    return NamespaceRevision(_KINDS[parts[0]], parts[1]) if len(parts) == _DEPTH else None


def resolve_table(table_id: Sequence[str] | None) -> tuple[NamespaceRevision, str]:
    """Return the revision and the key of a table."""
    parts = list(table_id or ())
    revision = revision_of_namespace(parts[:-1]) if parts else None
    if revision is None:
        msg = (
            f"A table is named by its key after its namespace, found {parts!r}: for example "
            '["node:Person"], or ["branches", "dev", "node:Person"].'
        )
        raise InvalidInputError(msg)
    return revision, parts[-1]


def child_namespaces(repo: Repository, path: Sequence[str] | None) -> list[str]:
    """Name the namespaces below one. Those of commits are not listed: ``repo.log`` has them."""
    if not path:
        return sorted(_KINDS)
    revision = revision_of_namespace(path)
    if revision is not None:
        revision.snapshot(repo)
        return []
    if path[0] == "branches":
        return sorted(branch.name for branch in repo.branches.list())
    return sorted(tag.name for tag in repo.tags.list()) if path[0] == "tags" else []
