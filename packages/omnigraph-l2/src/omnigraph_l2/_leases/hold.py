"""What one snapshot, transaction or operation may still need.

Always: it counts as long as somebody holds on to it, and not a moment longer. It says less than
what is needed never: what is read later than it was made is later in the catalog, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

__all__ = ["MAIN_LINEAGE", "Hold"]

MAIN_LINEAGE = "main"
"""What the main lineage of the catalog is called in a lease: no native branch has this name."""


class _Keeper(Protocol):
    def check(self, hold: Hold) -> None: ...
    def reach_back(self, native: str, version: int) -> None: ...


class Hold:
    """From which versions of the catalog on its owner may need things. Weakly known to the lease.

    ``floors`` has a version for each native branch of the catalog that was read when it was made.
    What is on another branch is needed from the time ``since`` on.
    """

    __slots__ = (
        "__weakref__",
        "_keeper",
        "began",
        "floors",
        "generation",
        "is_of_head",
        "is_settled",
        "since",
    )

    def __init__(
        self,
        keeper: _Keeper,
        *,
        floors: Mapping[str, int],
        since: datetime,
        began: float,
        generation: int | None,
    ) -> None:
        self._keeper = keeper
        self.floors: Mapping[str, int] = floors
        self.since: datetime | None = since
        """Since when files may be written for it that no version names; None where none are."""
        self.began = began
        self.generation = generation
        """The lease under which it was made; None where there was none to be had."""
        self.is_of_head = False
        """Whether that was the head when it was read: then a lease covers it from the start."""
        self.is_settled = False
        """Whether it is known which version it needs, so that nothing else is."""

    def settle(
        self, native: str | None, version: int, *, is_head: bool = False, writes: bool = False
    ) -> None:
        """Say which version of which branch is needed, and whether files are written.

        ``is_head`` says that it was the newest when it was read, under this very hold.
        """
        name = MAIN_LINEAGE if native is None else native
        self.floors = {name: version}
        self.is_settled = True
        self.is_of_head = is_head
        if not writes:
            self.since = None
        self._keeper.reach_back(name, version)

    def check(self) -> None:
        """Raise ``LeaseLost`` where what is held on to may have been cleaned up."""
        self._keeper.check(self)

    def __reduce__(self) -> Any:
        problem = "a hold belongs to its process"
        raise TypeError(problem)
