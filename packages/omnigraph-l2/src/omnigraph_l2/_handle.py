"""What a repository handle has open, and letting go of it.

Always: one handle serves many threads of one process. After it was closed it only says so. Nothing
here is asked of the store before it is needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from omnigraph_l1 import Durability, Storage
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._branches.listing import Listing
from omnigraph_l2._branches.opened import OpenBranches
from omnigraph_l2._branches.pointers import Pointers
from omnigraph_l2._errors.translating import border
from omnigraph_l2._given import refuse_pickling
from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._leases import Leases
from omnigraph_l2._manifest.catalog import VersionsRead
from omnigraph_l2._publishing.turns import Turns
from omnigraph_l2._references.resolving import References
from omnigraph_l2._references.tag_refs import TagRefs
from omnigraph_l2._storage import Root
from omnigraph_l2.errors import InvalidBranchName, InvalidRequest

__all__ = ["Handle", "root_of"]

_Self = TypeVar("_Self", bound="Handle")


class Handle:
    """The parts of a repository handle, and its life."""

    def __init__(self, root: Root, *, actor: str | None, clock: Callable[[], datetime]) -> None:
        self._root = root
        self._actor = actor
        self._clock = clock
        self._turns = Turns(root)
        self._log = GraphLog(root)
        self._pointers = Pointers(root, clock)
        self._tag_refs = TagRefs(root)
        self._listing = Listing(root, self._pointers)
        self._leases = Leases(root, clock=clock, known=self._versions_read)
        self._open_branches = OpenBranches(
            root,
            pointers=self._pointers,
            listing=self._listing,
            log=self._log,
            turns=self._turns,
            leases=self._leases,
        )
        self._references = References(
            root=root,
            listing=self._listing,
            log=self._log,
            tags=self._tag_refs,
            leases=self._leases,
            open=self._branch,
            find=self._open_branches.find,
        )

    @property
    def uri(self) -> str:
        """Where the repository is."""
        return self._root.place

    def flush(self) -> None:
        """Write down in the log what this handle has published, so that other programs see it."""
        with border():
            self._open_branches.flush()

    def close(self) -> None:
        """Flush, and let go of what is open. Closing twice does nothing."""
        if self._root.closed:
            return
        try:
            self.flush()
        finally:
            self._leases.close()
            self._root.close()

    def __enter__(self: _Self) -> _Self:  # noqa: PYI019  # Self needs Python 3.11
        self._root.check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a repository handle", "send its uri, and open it there")

    def __repr__(self) -> str:
        return f"<Repository at {self.uri}>"

    def _versions_read(self) -> Mapping[str, VersionsRead]:
        return self._open_branches.versions_read()

    def _branch(self, name: str) -> GraphBranch:
        self._root.check_open()
        given: object = name
        if not isinstance(given, str):
            raise InvalidBranchName(name=repr(name), rule="it is text")
        return self._open_branches.get(name)


def root_of(
    uri: str | os.PathLike[str],
    storage_options: Mapping[str, Any] | None,
    durability: Durability | str | None,
) -> Root:
    """Give the root that was asked for. Nothing is read yet."""
    storage = Storage.resolve(uri, storage_options)
    try:
        kind = Durability.FULL if durability is None else Durability(durability)
    except ValueError as error:
        known = " or ".join(repr(each.value) for each in Durability)
        reason = f"durability is {known}, found {durability!r}"
        raise InvalidRequest(what=f"Opening {storage.place}", reason=reason) from error
    return Root(storage, kind)
