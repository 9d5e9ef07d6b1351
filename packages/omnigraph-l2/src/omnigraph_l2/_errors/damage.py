"""Errors that need a person: damage, a foreign writer, or a newer format."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_l1.errors import OmniGraphError

__all__ = ["CorruptRepository", "ForeignRepository", "UpgradeRequired"]


@define(kw_only=True, slots=False)
class CorruptRepository(OmniGraphError):
    """The repository breaks its format. ``item`` names the row, file or pointer."""

    kind: ClassVar[str] = "corrupt_repository"
    location: str
    item: str
    detail: str

    def __str__(self) -> str:
        where = "" if self.item == self.location else f" at {self.item}"
        return (
            f"The repository at {self.location} is damaged{where}: {self.detail.rstrip('.')}. "
            "Nothing was changed. Read an older version, or bring the files back from a copy."
        )


@define(kw_only=True, slots=False)
class ForeignRepository(OmniGraphError):
    """The original program, or Lance itself, changes this repository too. It can only be read.

    ``files`` names the schema files of the original program that were found; ``datasets`` those
    whose config has ``lance.auto_cleanup.*``.
    """

    kind: ClassVar[str] = "foreign_repository"
    location: str
    files: tuple[str, ...]
    datasets: tuple[str, ...]

    def __str__(self) -> str:
        found = [*self.files, *(f"lance.auto_cleanup of {each}" for each in self.datasets)]
        return (
            f"Repository of another program: {self.location} has {', '.join(found)}. That "
            "program, or "
            "Lance's automatic cleanup, could remove what is published here, so nothing was "
            "written. Read it, and load it into a new repository (see 'From the original program' "
            "in docs/upgrading.md)."
        )


@define(kw_only=True, slots=False)
class UpgradeRequired(OmniGraphError):
    """A newer omnigraph wrote this repository."""

    kind: ClassVar[str] = "upgrade_required"
    location: str
    found: int
    supported: int

    def __str__(self) -> str:
        return (
            f"The repository at {self.location} has internal schema version {self.found}; this "
            f"omnigraph knows up to {self.supported}. Upgrade omnigraph first. Nothing was touched."
        )
