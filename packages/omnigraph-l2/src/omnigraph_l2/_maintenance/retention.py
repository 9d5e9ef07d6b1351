"""Which versions of a lineage must stay. Pure.

Always: in doubt a version stays. What is at or above the oldest version from which somebody may go
on writing stays without a gap, because Lance compares a write with all versions since its base.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from omnigraph_l1 import VersionFile
from omnigraph_l2.errors import InvalidRequest

__all__ = ["at_or_before", "check_retention", "check_target", "current_at", "doomed"]


def check_retention(older_than: object, keep_versions: object) -> None:
    """Refuse a retention that is none."""
    if not isinstance(older_than, timedelta) or older_than < timedelta(0):
        reason = f"older_than is a timedelta of zero or more, found {older_than!r}"
        raise InvalidRequest(what="A cleanup", reason=reason)
    given = keep_versions
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        reason = f"keep_versions is a whole number from 1, or None, found {given!r}"
        raise InvalidRequest(what="A cleanup", reason=reason)


def check_target(tables: object, target_rows: object) -> None:
    """Refuse what cannot be optimized."""
    if tables is not None and (isinstance(tables, str) or not isinstance(tables, Collection)):
        reason = f"tables are a collection of table keys, or None for all, found {tables!r}"
        raise InvalidRequest(what="This optimize", reason=reason)
    if isinstance(target_rows, bool) or not isinstance(target_rows, int) or target_rows < 1:
        reason = f"target_rows is a whole number from 1, found {target_rows!r}"
        raise InvalidRequest(what="This optimize", reason=reason)


def current_at(files: Sequence[VersionFile], moment: datetime) -> int:
    """Tell the version that was the newest at a moment; the oldest, where that is before all."""
    current = files[0].version
    for each in files:
        if each.modified > moment:
            return current
        current = each.version
    return current


def at_or_before(files: Sequence[VersionFile], version: int) -> int:
    """Tell the newest version up to a number; the oldest, where all are after it."""
    return max(
        (each.version for each in files if each.version <= version), default=files[0].version
    )


def doomed(
    files: Sequence[VersionFile],
    *,
    floor: int | None,
    before: datetime,
    keep: Iterable[Collection[int]],
) -> list[int]:
    """Name the versions that can go.

    With a floor that is what is below it. Without one nobody writes on from a version that is
    published here; then it is what was written before a moment. The newest stays in any case.
    """
    kept = {files[-1].version} if files else set()
    for some in keep:
        kept.update(some)
    return [
        each.version
        for each in files
        if each.version not in kept
        and (each.modified < before if floor is None else each.version < floor)
    ]
