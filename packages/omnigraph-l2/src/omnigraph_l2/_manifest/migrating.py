"""Bringing every branch of the catalog to the newest internal schema version at once.

Always: it does what the next writer of each branch would do; who is content with that need not
call it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import attrs

from omnigraph_l2._manifest.catalog import Catalog
from omnigraph_l2._manifest.migrations import INTERNAL_MANIFEST_SCHEMA_VERSION, check

__all__ = ["MigrateReport", "migrate_all"]


def _frozen(found: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType(dict(found))


@attrs.frozen(kw_only=True)
class MigrateReport:
    """What ``repo.migrate`` did, or would do. Print it."""

    place: str
    dry_run: bool
    found: Mapping[str, int] = attrs.field(converter=_frozen)
    """The branches that were of an older version, and that version."""
    supported: int = INTERNAL_MANIFEST_SCHEMA_VERSION
    """The version that they are of then."""

    @property
    def is_needed(self) -> bool:
        """Whether there was anything to do."""
        return bool(self.found)

    def __str__(self) -> str:
        if not self.found:
            return f"{self.place}: all branches are of version {self.supported}"
        became = "would become" if self.dry_run else "became"
        listed = ", ".join(f"{name} (of {version})" for name, version in self.found.items())
        return f"{self.place}: {became} version {self.supported}: {listed}"


def migrate_all(
    names: Iterable[str],
    catalog: Callable[[str], Catalog],
    *,
    place: str,
    ready: Callable[[], None],
    dry_run: bool,
) -> MigrateReport:
    """Look at each branch, and migrate those that are older. ``ready`` is called before a write."""
    found: dict[str, int] = {}
    for name in names:
        opened = catalog(name)
        loaded = opened.refresh()
        version = check(loaded.table)
        if version < INTERNAL_MANIFEST_SCHEMA_VERSION:
            found[name] = version
            if not dry_run:
                ready()
                opened.migrated(loaded)
    return MigrateReport(place=place, dry_run=dry_run, found=found)
