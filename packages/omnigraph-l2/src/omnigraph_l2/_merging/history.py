"""Looking commits up while the graph of commits is walked.

Always: a commit is looked up once. Those of the branches that are merged come page by page, newest
first, as the walk goes; any other one is found by its id. Where that is of a branch that is gone,
those before it come page by page, too. None means that nobody has it now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from omnigraph_l2._catalog.commits import GraphCommit

__all__ = ["History"]

_PAGE = 64


class History:
    """The commits that a merge has to know."""

    def __init__(
        self,
        find: Callable[[str], GraphCommit | None],
        *,
        before: Callable[[GraphCommit], Iterator[GraphCommit]] = lambda _: iter(()),
        streams: Iterable[Iterator[GraphCommit]],
        known: Iterable[GraphCommit] = (),
    ) -> None:
        """``find`` looks everywhere; a stream gives a branch from its head downward.

        ``before`` gives what the branch of a commit made before it, where that branch is gone.
        """
        self._find = find
        self._before = before
        self._streams = list(streams)
        self._known: dict[str, GraphCommit | None] = {each.graph_commit_id: each for each in known}

    def __call__(self, commit_id: str) -> GraphCommit | None:
        """Give a commit, or None."""
        if commit_id not in self._known:
            for stream in self._streams:
                for commit in islice(stream, _PAGE):
                    self._known.setdefault(commit.graph_commit_id, commit)
                if commit_id in self._known:
                    return self._known[commit_id]
            found = self._known[commit_id] = self._find(commit_id)
            if found is not None:
                self._streams.append(self._before(found))
        return self._known[commit_id]
