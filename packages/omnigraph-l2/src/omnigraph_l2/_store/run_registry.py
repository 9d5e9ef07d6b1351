"""The registry of runs: ``_graph_runs.lance``, its actors, and the reasons why runs failed.

The actor is written before the run. A publish that names a run outranks what the registry says of
it.

Invariant: rows are only added, so that processes never conflict here. The state of a run is its
last row by ``updated_at``, which rises; two rows of the same time say the same.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l1.errors import DatasetNotFound
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.manifest_rows import later_time
from omnigraph_l2._model.repository_layout import COMMIT_NOTES, RUN_ACTORS, RUNS
from omnigraph_l2._store.log_append import add_rows
from omnigraph_l2._store.log_rows import NOTES_SCHEMA, RUN_ACTORS_SCHEMA, RUNS_SCHEMA
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import CorruptRepository

__all__ = ["Registry", "RunRecord", "RunStatus", "actor_rows", "newest", "next_state", "run_rows"]


class RunStatus(enum.Enum):
    """The status of a run."""

    RUNNING = "running"
    PUBLISHED = "published"
    FAILED = "failed"
    ABORTED = "aborted"


@attrs.frozen(kw_only=True)
class RunRecord:
    """The state of a run at one time."""

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


def next_state(
    record: RunRecord, status: RunStatus, now: datetime, *, published: str | None = None
) -> RunRecord:
    """Return the next state of a run, with a later time than the one before."""
    return attrs.evolve(
        record,
        status=status,
        published_snapshot_id=published,
        updated_at=max(now, later_time(record.updated_at)),
    )


def run_rows(record: RunRecord) -> pa.Table:
    """Return a state of a run as a row."""
    row = attrs.asdict(record)
    row["status"] = record.status.value
    row["created_at"], row["updated_at"] = _naive(record.created_at), _naive(record.updated_at)
    return pa.Table.from_pylist([row], schema=RUNS_SCHEMA)


def actor_rows(record: RunRecord) -> pa.Table:
    """Return the actor of a run as a row."""
    row = {
        "run_id": record.run_id,
        "actor_id": record.actor_id,
        "created_at": _naive(record.created_at),
    }
    return pa.Table.from_pylist([row] if record.actor_id else [], schema=RUN_ACTORS_SCHEMA)


def newest(
    rows: Iterable[Mapping[str, Any]], actors: Iterable[Mapping[str, Any]], location: str
) -> list[RunRecord]:
    """Return the newest state of each run, oldest run first."""
    actor_of = {row["run_id"]: row["actor_id"] for row in actors}
    last: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        before = last.get(row["run_id"])
        if before is None or row["updated_at"] >= before["updated_at"]:
            last[row["run_id"]] = row
    found = [_parse(row, actor_of.get(run_id), location) for run_id, row in last.items()]
    return sorted(found, key=lambda each: (each.created_at, each.run_id))


def _parse(row: Mapping[str, Any], actor: str | None, location: str) -> RunRecord:
    try:
        status = RunStatus(row["status"])
    except ValueError as error:
        detail = f"its status is {row['status']!r}, known are {[each.value for each in RunStatus]}"
        raise CorruptRepository(
            location=location, item=f"run {row['run_id']}", detail=detail
        ) from error
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


_ACTOR = declare("l2.run.actor", "the registry has the actor of a run, not the run yet")
_BEGUN = declare("l2.run.begun", "the registry has the run")
_MOVED = declare("l2.run.moved", "the registry has another state of the run")

_INDEXED = ("run_id", "graph_commit_id")


@attrs.frozen
class Registry:
    """The registered runs of a repository."""

    _root: RepositoryRoot
    _clock: Callable[[], datetime]

    def add(self, record: RunRecord) -> None:
        """Write a new run."""
        self._add(RUN_ACTORS, actor_rows(record))
        failpoint(_ACTOR)
        self._add(RUNS, run_rows(record))
        failpoint(_BEGUN)

    def move(
        self,
        record: RunRecord,
        status: RunStatus,
        *,
        published: str | None = None,
        reason: str | None = None,
    ) -> RunRecord:
        """Write the next state of a run, and the reason."""
        if reason is not None:
            note = {"graph_commit_id": _note_id(record.run_id), "message": reason}
            note["run_id"] = record.run_id
            self._add(COMMIT_NOTES, pa.Table.from_pylist([note], schema=NOTES_SCHEMA))
        latest = self.get(record.run_id) or record
        now = next_state(latest, status, self._clock(), published=published)
        self._add(RUNS, run_rows(now))
        failpoint(_MOVED)
        return now

    def get(self, run_id: str) -> RunRecord | None:
        """Return the state of a run; None if there is none of that id."""
        found = self._records([run_id])
        return found[0] if found else None

    def all(self) -> list[RunRecord]:
        """Return the state of each run, oldest run first."""
        return self._records(None)

    def reason(self, run_id: str) -> str | None:
        """Return why a run failed."""
        rows = self._rows(COMMIT_NOTES, "graph_commit_id", [_note_id(run_id)])
        return rows[-1]["message"] if rows else None

    def _records(self, run_ids: Sequence[str] | None) -> list[RunRecord]:
        rows = self._rows(RUNS, "run_id", run_ids)
        actors = self._rows(RUN_ACTORS, "run_id", run_ids) if rows else []
        return newest(rows, actors, self._root.location)

    def _rows(self, path: str, column: str, values: Sequence[str] | None) -> list[dict[str, Any]]:
        try:
            table = self._root.open(path)
        except DatasetNotFound:
            return []
        rows = table.read() if values is None else table.find(column, values)
        found: list[dict[str, Any]] = rows.to_pylist()
        return found

    def _add(self, path: str, rows: pa.Table) -> None:
        add_rows(self._root, path, rows, indexed=_INDEXED)


def _note_id(run_id: str) -> str:
    return f"run:{run_id}"
