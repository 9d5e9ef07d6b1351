"""A dataset at one version of one lineage: what every module of this folder works on.

Always: it never moves, and threads may share it. Looking at a later version makes another one. It
is good in the process that opened it only.
"""

from __future__ import annotations

import copy
from enum import Enum
from pathlib import Path

import attrs
from lance import LanceDataset

from omnigraph_l1._places import Place, Storage
from omnigraph_l1._process import ProcessGuard
from omnigraph_l1._table.dataset_identity import (
    DatasetIdentity,
    check_dataset_identity,
    read_dataset_identity,
)
from omnigraph_l1._table.objects import storage_border

__all__ = ["Durability", "Pinned"]


class Durability(Enum):
    """What an acknowledged commit on local disk survives. Stores decide for themselves."""

    FULL = "full"
    """A power cut: files and directories are flushed before a commit is acknowledged."""
    NONE = "none"
    """A killed process, but no power cut. For data that can be made again."""


@attrs.frozen(eq=False, repr=False)
class Pinned:
    """One version of one lineage of a dataset, open."""

    storage: Storage
    dataset: LanceDataset
    branch: str | None = attrs.field(kw_only=True)
    """The native branch; None is main."""
    branch_identity: str | None = attrs.field(kw_only=True)
    """What tells this branch from another that bore its name; None on main."""
    durability: Durability = attrs.field(kw_only=True)
    guard: ProcessGuard = attrs.field(kw_only=True)
    dataset_identity: DatasetIdentity | None = attrs.field(init=False)
    """What tells this dataset from another at its place; None in a store, and on a branch."""

    @dataset_identity.default
    def _(self) -> DatasetIdentity | None:
        if self.branch is not None or not self.place.is_local:
            return None
        with storage_border(self.place):
            return read_dataset_identity(self.directory, self.version)

    @property
    def place(self) -> Place:
        """Where the dataset is."""
        return self.storage.place

    @property
    def version(self) -> int:
        """The version that is open."""
        return int(self.dataset.version)

    @property
    def flushes(self) -> bool:
        """Whether commits must be flushed by us."""
        return self.place.is_local and self.durability is Durability.FULL

    @property
    def directory(self) -> Path:
        """The directory of this lineage on local disk: Lance keeps branches below ``tree``."""
        return lineage_directory(self.place, self.branch)

    def refuse_stale(self) -> None:
        """Refuse to go on in another process, or over another dataset at the same place."""
        self.guard.check()
        if self.dataset_identity is not None:
            check_dataset_identity(self.place, self.directory, self.version, self.dataset_identity)

    def apart(self) -> LanceDataset:
        """Give a handle for a call that moves it, or that bars other threads from it meanwhile."""
        return copy.copy(self.dataset)

    def at(self, dataset: LanceDataset) -> Pinned:
        """Give the same lineage at another version."""
        return attrs.evolve(self, dataset=dataset)


def lineage_directory(place: Place, branch: str | None) -> Path:
    """Tell where on local disk a lineage keeps its versions and new files."""
    root = place.local_path
    return root if branch is None else root / "tree" / branch
