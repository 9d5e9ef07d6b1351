"""Migrate every branch of the catalog to the newest internal schema version at once.

Calling it is optional: the next writer of a branch migrates that branch in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import attrs

from omnigraph_l2._store.manifest_store import ManifestStore
from omnigraph_l2._store.migrations import INTERNAL_MANIFEST_SCHEMA_VERSION

__all__ = ["MigrateReport", "migrate_all"]


def _freeze(found: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType(dict(found))


@attrs.frozen(kw_only=True)
class MigrateReport:
    """What ``repo.migrate`` did, or would do. Print it."""

    location: str
    dry_run: bool
    found: Mapping[str, int] = attrs.field(converter=_freeze)
    """The branches that were of an older version, and that version."""
    supported: int = INTERNAL_MANIFEST_SCHEMA_VERSION
    """The version that they are of then."""

    @property
    def is_needed(self) -> bool:
        """Whether there was anything to do."""
        return bool(self.found)

    def __str__(self) -> str:
        if not self.found:
            return f"{self.location}: all branches are of version {self.supported}"
        became = "would become" if self.dry_run else "became"
        listed = ", ".join(f"{name} (of {version})" for name, version in self.found.items())
        return f"{self.location}: {became} version {self.supported}: {listed}"


def migrate_all(
    names: Iterable[str],
    catalog: Callable[[str], ManifestStore],
    *,
    location: str,
    ready: Callable[[], None],
    dry_run: bool,
) -> MigrateReport:
    """Migrate each branch with an older schema version. ``ready`` is called before a write."""
    found: dict[str, int] = {}
    for name in names:
        opened = catalog(name)
        loaded = opened.refresh()
        version = loaded.older_version
        if version is not None:
            found[name] = version
            if not dry_run:
                ready()
                opened.migrate(loaded)
    return MigrateReport(location=location, dry_run=dry_run, found=found)
