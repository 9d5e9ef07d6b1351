"""The registry of runs: ``_graph_runs.lance``, its actors, and why runs failed.

Always: rows are only added, so that processes never get in each other's way here. Who began a run
is written before the run. What this says of a run is outranked by a publish that names the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l1.errors import DatasetNotFound
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._history.schemas import NOTES_SCHEMA
from omnigraph_l2._runs.records import (
    RunRecord,
    RunStatus,
    actor_rows,
    moved,
    newest,
    run_rows,
)
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.adding import add_rows
from omnigraph_l2._storage.layout import COMMIT_NOTES, RUN_ACTORS, RUNS

__all__ = ["Registry"]

_ACTOR = declare("l2.run.actor", "the registry has the actor of a run, not the run yet")
_BEGUN = declare("l2.run.begun", "the registry has the run")
_MOVED = declare("l2.run.moved", "the registry has another state of the run")

_INDEXED = ("run_id", "graph_commit_id")


@attrs.frozen
class Registry:
    """The runs of a repository, as far as they are written down."""

    _root: Root
    _clock: Callable[[], datetime]

    def add(self, record: RunRecord) -> None:
        """Write a new run down."""
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
        """Write the next state of a run down, and why."""
        if reason is not None:
            note = {"graph_commit_id": _note_id(record.run_id), "message": reason}
            note["run_id"] = record.run_id
            self._add(COMMIT_NOTES, pa.Table.from_pylist([note], schema=NOTES_SCHEMA))
        latest = self.get(record.run_id) or record
        now = moved(latest, status, self._clock(), published=published)
        self._add(RUNS, run_rows(now))
        failpoint(_MOVED)
        return now

    def get(self, run_id: str) -> RunRecord | None:
        """Read the state of a run; None where there is none of that id."""
        found = self._records([run_id])
        return found[0] if found else None

    def all(self) -> list[RunRecord]:
        """Read the state of each run, oldest run first."""
        return self._records(None)

    def reason(self, run_id: str) -> str | None:
        """Read why a run failed."""
        rows = self._rows(COMMIT_NOTES, "graph_commit_id", [_note_id(run_id)])
        return rows[-1]["message"] if rows else None

    def _records(self, run_ids: Sequence[str] | None) -> list[RunRecord]:
        rows = self._rows(RUNS, "run_id", run_ids)
        actors = self._rows(RUN_ACTORS, "run_id", run_ids) if rows else []
        return newest(rows, actors, self._root.place)

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
