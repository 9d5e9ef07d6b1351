"""Stop: a person is needed."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_l2._errors.base import OmniGraphError

__all__ = ["CorruptRepository", "UpgradeRequired", "UsedAfterFork"]


@define(kw_only=True, slots=False)
class CorruptRepository(OmniGraphError):
    """What the format says must hold, does not. ``item`` names the row, file or pointer."""

    kind: ClassVar[str] = "corrupt_repository"
    place: str
    item: str
    detail: str

    def __str__(self) -> str:
        where = "" if self.item == self.place else f" at {self.item}"
        return (
            f"The repository at {self.place} is damaged{where}: {self.detail.rstrip('.')}. Nothing "
            "was changed. Read an older version, or bring the files back from a copy."
        )


@define(kw_only=True, slots=False)
class UpgradeRequired(OmniGraphError):
    """A newer omnigraph wrote this repository."""

    kind: ClassVar[str] = "upgrade_required"
    place: str
    found: int
    supported: int

    def __str__(self) -> str:
        return (
            f"The repository at {self.place} has internal schema version {self.found}; this "
            f"omnigraph knows up to {self.supported}. Upgrade omnigraph first. Nothing was touched."
        )


@define(kw_only=True, slots=False)
class UsedAfterFork(OmniGraphError):
    """A handle was made in one process and used in its forked child, where it would hang."""

    kind: ClassVar[str] = "used_after_fork"
    what: str
    made_in: int
    used_in: int

    def __str__(self) -> str:
        return (
            f"{self.what} was made in process {self.made_in} and used in its forked child "
            f"{self.used_in}. Start workers with the 'spawn' method, or open it in the child."
        )
