"""The commits that a stream reads, and the changes of each.

Invariant: a range and the options determine the rows, so that a batch that runs again has the same
rows. A range is named by the commit before its first one and by its last commit. No commit means
the start of the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import attrs
import pyarrow as pa

from omnigraph_l2 import Diff, GraphCommit, Repository
from omnigraph_l2.errors import InvalidRequest, NotOnBranch
from omnigraph_spark._convert.spark_types import arrow_schema
from omnigraph_spark._options.change_options import LATEST, SNAPSHOT, ChangeOptions
from omnigraph_spark._read.snapshot_options import select_columns
from omnigraph_spark._streaming.change_columns import CommitStamp, change_schema, check_columns
from omnigraph_spark._streaming.change_partitions import CommitPart

__all__ = ["BEGINNING", "BatchLimit", "CommitFollower", "StreamPlan", "plan_stream"]

BEGINNING = ""


@attrs.frozen(kw_only=True)
class StreamPlan:
    """What is decided when the stream is loaded."""

    options: ChangeOptions
    columns: pa.Schema = attrs.field(repr=False)
    """The columns of the rows."""
    version: int
    """The version of the graph that has these columns."""


def plan_stream(options: ChangeOptions) -> StreamPlan:
    """Decide which columns a stream has."""
    with options.location.open() as repository:
        now = repository.snapshot(options.branch)
        columns = select_columns(now.share(options.table), options.columns)
        return StreamPlan(options=options, columns=columns, version=now.version)


class BatchLimit(Protocol):
    """Limits the number of commits in one batch."""

    def takes(self, rows: int) -> bool:
        """Return whether one more commit, with at most this many rows, fits into the batch."""


@attrs.frozen
class _CommitStep:
    """One commit and its changes of the table."""

    commit: str
    changes: tuple[CommitPart, ...]


class CommitFollower:
    """Follows a branch. One process uses it while the stream runs."""

    def __init__(self, plan: StreamPlan) -> None:
        self._plan = plan
        self._options = plan.options
        self._stream = arrow_schema(change_schema(plan.columns, table_key=plan.options.table))
        self._repository: Repository | None = None
        self._pin: Diff | None = None
        """The first diff of the batch. It pins what the batch reads against cleanups."""
        self._walked: tuple[str, tuple[_CommitStep, ...]] = (BEGINNING, ())

    def head(self) -> str:
        """Return the newest commit."""
        newest = self._open().log(self._options.branch, limit=1)
        if not newest:
            reason = f"branch {self._options.branch} has no commits that could be followed"
            raise InvalidRequest(what="stream of changes", reason=reason)
        return newest[0].graph_commit_id

    def find_batch_end(self, after: str, until: str, limit: BatchLimit) -> str:
        """Return the last commit of the next batch."""
        if after == BEGINNING and self._options.since is None and self._starts_at_newest:
            return until
        steps = []
        for step in self._steps(after, until):
            if not limit.takes(sum(each.part.rows_at_most for each in step.changes)):
                break
            steps.append(step)
        self._walked = after, tuple(steps)
        return steps[-1].commit if steps else after

    def changes(self, after: str, until: str) -> Iterator[CommitPart]:
        """Yield the changes of the commits after one, up to another."""
        walked, steps = self._walked
        if not (walked == after and steps and steps[-1].commit == until):
            steps = tuple(self._all_steps(after, until))
        self._walked = BEGINNING, ()
        for step in steps:
            for each in step.changes:
                self._check(each)
                yield each

    def release(self) -> None:
        """Drop the pin: everything has been read."""
        self._pin = None

    def close(self) -> None:
        """Close the repository."""
        self.release()
        if self._repository is not None:
            self._repository.close()
            self._repository = None

    @property
    def _starts_at_newest(self) -> bool:
        return self._options.starting in {LATEST, SNAPSHOT}

    def _all_steps(self, after: str, until: str) -> Iterator[_CommitStep]:
        """Yield the commits of a known range."""
        if after == BEGINNING and self._options.since is None and self._starts_at_newest:
            if self._options.starting == SNAPSHOT:
                now = self._open().snapshot(self._options.branch, commit=until)
                self._pin = self._open().diff(None, now)
                yield self._step(now.commit, self._pin)
            return
        for step in self._steps(after, until):
            yield step
            if step.commit == until:
                return
        raise NotOnBranch(branch=self._options.branch, reference=until)

    def _steps(self, after: str, until: str) -> Iterator[_CommitStep]:
        since = after if after != BEGINNING else self._options.since
        self._pin = None
        for each in self._open().changes(since, self._options.branch):
            if self._pin is None:
                self._pin = each.diff
            yield self._step(each.commit, each.diff)
            if each.cursor == until:
                return

    def _step(self, commit: GraphCommit | None, diff: Diff) -> _CommitStep:
        if commit is None:
            raise NotOnBranch(branch=self._options.branch, reference=str(diff.after.version))
        stamp = CommitStamp(commit.graph_commit_id, commit.manifest_version, commit.created_at)
        table = self._options.table
        if table not in diff.before.tables and table not in diff.after.tables:
            return _CommitStep(stamp.commit, ())
        parts = diff.share(table, rows_of_a_part=self._options.partition_rows)
        return _CommitStep(stamp.commit, tuple(CommitPart(stamp, part) for part in parts))

    def _check(self, found: CommitPart) -> None:
        if found.stamp.version > self._plan.version:
            check_columns(
                found.part.schema,
                self._stream,
                found.stamp,
                table_key=self._options.table,
                all_of_them=self._options.columns is None,
            )

    def _open(self) -> Repository:
        if self._repository is None:
            self._repository = self._options.location.open()
        return self._repository
