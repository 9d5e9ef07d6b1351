"""Turns for writers that want the same thing, so that nobody starves.

Always advisory: turns order writers, they protect nothing. A dead holder blocks nobody for long: on
local disk the kernel releases its lock, in a store nobody waits for a ticket that does not move.
What protects is the publish itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

import attrs

from omnigraph_l1 import directory_lock, fnv1a64
from omnigraph_l1.errors import StorageError
from omnigraph_l2._publishing.tickets import Tickets
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import TURNS

__all__ = ["Turns", "lineage"]

_PATIENCE_SECONDS = 3.0


def lineage(table_path: str, branch: str | None) -> str:
    """Name a lineage of a table, to take a turn on it."""
    return f"table {table_path} {branch or ''}"


@attrs.frozen
class Turns:
    """Who goes next, for each of several named things."""

    _root: Root

    def take(self, wanted: Collection[str], *, lost: int = 0) -> AbstractContextManager[None]:
        """Wait for a turn on all that is wanted, and hold it. ``lost`` counts the races lost."""
        place = self._root.storage.place
        names = sorted({f"{fnv1a64(each):016x}" for each in wanted})
        if place.is_local:
            return _locked(place.local_path / TURNS, names)
        return Tickets(self._root.child(TURNS)).turn(names, lost=lost)

    def publishing(self, branch: str | None, *, lost: int) -> AbstractContextManager[None]:
        """Wait for a turn to publish on a branch.

        In a store the first try looks at nobody: it costs a request, and most are alone.
        """
        if not lost and not self._root.storage.place.is_local:
            return nullcontext()
        return self.take([f"publish {branch or ''}"], lost=lost)


@contextmanager
def _locked(folder: Path, names: Collection[str]) -> Iterator[None]:
    """Hold a kernel lock for each name: in one order for all, so that nobody waits in a circle."""
    with ExitStack() as held:
        # Who waited too long, or cannot lock here, goes on without a turn.
        with suppress(StorageError, OSError):
            folder.mkdir(exist_ok=True)
            for name in names:
                path = folder / f".{name}.lock"
                held.enter_context(directory_lock(path, patience=_PATIENCE_SECONDS))
        yield
