"""What is known of a run, and the rows that say so. Pure.

Always: rows are only added. A run's state is its last row by ``updated_at``, which rises; two rows
of the same moment say the same.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l2._history.schemas import RUN_ACTORS_SCHEMA, RUNS_SCHEMA
from omnigraph_l2.errors import CorruptRepository

__all__ = ["RunRecord", "RunStatus", "actor_rows", "moved", "newest", "run_rows"]

_MICROSECOND = timedelta(microseconds=1)


class RunStatus(enum.Enum):
    """How far a run is."""

    RUNNING = "running"
    PUBLISHED = "published"
    FAILED = "failed"
    ABORTED = "aborted"


@attrs.frozen(kw_only=True)
class RunRecord:
    """A run, at one moment."""

    run_id: str
    target_branch: str
    run_branch: str
    base_snapshot_id: str
    """The commit that it started from."""
    base_manifest_version: int
    operation_hash: str | None
    status: RunStatus
    published_snapshot_id: str | None
    """The commit that it made."""
    created_at: datetime
    updated_at: datetime
    actor_id: str | None = None


def moved(
    record: RunRecord, status: RunStatus, now: datetime, *, published: str | None = None
) -> RunRecord:
    """Give the next state of a run, later than the one before."""
    return attrs.evolve(
        record,
        status=status,
        published_snapshot_id=published,
        updated_at=max(now, record.updated_at + _MICROSECOND),
    )


def run_rows(record: RunRecord) -> pa.Table:
    """Write a state of a run down."""
    row = attrs.asdict(record)
    row["status"] = record.status.value
    row["created_at"], row["updated_at"] = _naive(record.created_at), _naive(record.updated_at)
    return pa.Table.from_pylist([row], schema=RUNS_SCHEMA)


def actor_rows(record: RunRecord) -> pa.Table:
    """Write down who began it."""
    row = {
        "run_id": record.run_id,
        "actor_id": record.actor_id,
        "created_at": _naive(record.created_at),
    }
    return pa.Table.from_pylist([row] if record.actor_id else [], schema=RUN_ACTORS_SCHEMA)


def newest(
    rows: Iterable[Mapping[str, Any]], actors: Iterable[Mapping[str, Any]], place: str
) -> list[RunRecord]:
    """Read the state of each run, oldest run first."""
    actor_of = {row["run_id"]: row["actor_id"] for row in actors}
    last: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        before = last.get(row["run_id"])
        if before is None or row["updated_at"] > before["updated_at"]:
            last[row["run_id"]] = row
    found = [_parsed(row, actor_of.get(run_id), place) for run_id, row in last.items()]
    return sorted(found, key=lambda each: (each.created_at, each.run_id))


def _parsed(row: Mapping[str, Any], actor: str | None, place: str) -> RunRecord:
    try:
        status = RunStatus(row["status"])
    except ValueError as error:
        detail = f"its status is {row['status']!r}, known are {[each.value for each in RunStatus]}"
        raise CorruptRepository(place=place, item=f"run {row['run_id']}", detail=detail) from error
    return RunRecord(
        run_id=row["run_id"],
        target_branch=row["target_branch"],
        run_branch=row["run_branch"],
        base_snapshot_id=row["base_snapshot_id"],
        base_manifest_version=row["base_manifest_version"],
        operation_hash=row["operation_hash"],
        status=status,
        published_snapshot_id=row["published_snapshot_id"],
        created_at=row["created_at"].replace(tzinfo=timezone.utc),
        updated_at=row["updated_at"].replace(tzinfo=timezone.utc),
        actor_id=actor,
    )


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(timezone.utc).replace(tzinfo=None)
