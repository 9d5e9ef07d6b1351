"""What a cleanup removed, or would remove."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

__all__ = ["CleanupReport", "Swept"]


@attrs.frozen
class Swept:
    """A number of removed things, and their bytes."""

    count: int = 0
    bytes: int = 0

    def __add__(self, other: Swept) -> Swept:
        return Swept(self.count + other.count, self.bytes + other.bytes)


@attrs.frozen(kw_only=True)
class CleanupReport:
    """What a cleanup removed, or in a dry run would remove, by kind."""

    dry_run: bool
    table_versions: Swept = Swept()
    """Versions of tables, with the data that only they had."""
    catalog_versions: Swept = Swept()
    """Versions of ``__manifest``."""
    log_versions: Swept = Swept()
    """Versions of the datasets of commits and runs. No commit goes: the newest version has all."""
    data_files: int = 0
    """How many data files are among the bytes of the versions."""
    orphan_files: Swept = Swept()
    """Files that no version names: of writers that failed or died a week ago or more."""
    forks: Swept = Swept()
    """Native branches that no name means: of branches and runs that are gone."""
    tickets: Swept = Swept()
    leases: Swept = Swept()
    """Expired leases."""
    documents: Swept = Swept()
    """What deleted documents left in a store."""
    failed: int = 0
    """Files that the store did not remove. Run it again."""
    held_back: bool = False
    """Whether tables were skipped because a writer has been active on them for days."""

    @property
    def bytes(self) -> int:
        """How many bytes in all."""
        return sum(each.bytes for each in self._kinds())

    @property
    def count(self) -> int:
        """How many things in all."""
        return sum(each.count for each in self._kinds())

    def __add__(self, other: CleanupReport) -> CleanupReport:
        """Add the counts of two parts of one cleanup."""
        changes = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in attrs.fields(CleanupReport)
            if field.name not in {"dry_run", "held_back"}
        }
        return attrs.evolve(self, held_back=self.held_back or other.held_back, **changes)

    def _kinds(self) -> Iterable[Swept]:
        return (
            value
            for field in attrs.fields(CleanupReport)
            if isinstance(value := getattr(self, field.name), Swept)
        )
