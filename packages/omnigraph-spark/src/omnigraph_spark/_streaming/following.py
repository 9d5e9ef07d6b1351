"""The commits that a stream reads, and what each of them changed.

Always: what a range means follows from its ends and the options alone, so that a batch that is run
again has the same rows. A range is told by the commits that it is after, and up to; after nothing
is where the stream begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import attrs
import pyarrow as pa

from omnigraph_l2 import Diff, GraphCommit, Repository
from omnigraph_l2.errors import InvalidRequest, NotOnBranch
from omnigraph_spark._source.pinning import chosen, opened
from omnigraph_spark._streaming.columns import Stamp, check_newer, stream_schema
from omnigraph_spark._streaming.dealing import Changes
from omnigraph_spark._streaming.options import LATEST, SNAPSHOT, SourceOptions
from omnigraph_spark._types import arrow_schema

__all__ = ["BEGINNING", "Follower", "Limit", "Plan", "planned"]

BEGINNING = ""


@attrs.frozen(kw_only=True)
class Plan:
    """What is settled when the stream is begun."""

    options: SourceOptions
    columns: pa.Schema = attrs.field(repr=False)
    """Those of the rows."""
    version: int
    """The version of the graph that has these columns."""


def planned(options: SourceOptions) -> Plan:
    """Settle which columns a stream has."""
    with opened(options.place) as repository:
        now = repository.snapshot(options.branch)
        columns = chosen(now.share(options.table), options.columns)
        return Plan(options=options, columns=columns, version=now.version)


class Limit(Protocol):
    """Decides how many commits are one batch."""

    def takes(self, rows: int) -> bool:
        """Tell whether one more commit, with so many rows at the most, belongs to the batch."""


@attrs.frozen
class _Step:
    """One commit: what it changed in the table."""

    commit: str
    changes: tuple[Changes, ...]


class Follower:
    """Follows a branch. One process uses it, for as long as the stream runs."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._options = plan.options
        self._stream = arrow_schema(stream_schema(plan.columns, table_key=plan.options.table))
        self._repository: Repository | None = None
        self._held: Diff | None = None
        """What the batch begins with: no cleanup takes away what it reads from there on."""
        self._walked: tuple[str, tuple[_Step, ...]] = (BEGINNING, ())

    def head(self) -> str:
        """Give the newest commit."""
        newest = self._open().log(self._options.branch, limit=1)
        if not newest:
            reason = f"branch {self._options.branch} has no commits that could be followed"
            raise InvalidRequest(what="A stream of changes", reason=reason)
        return newest[0].graph_commit_id

    def reached(self, after: str, until: str, limit: Limit) -> str:
        """Tell how far one batch goes: to one of the commits after one, up to another."""
        if after == BEGINNING and self._options.since is None and self._begins_at_once:
            return until
        steps = []
        for step in self._steps(after, until):
            if not limit.takes(sum(each.part.rows_at_most for each in step.changes)):
                break
            steps.append(step)
        self._walked = after, tuple(steps)
        return steps[-1].commit if steps else after

    def changes(self, after: str, until: str) -> Iterator[Changes]:
        """Give what the commits after one, up to another, changed."""
        walked, steps = self._walked
        if not (walked == after and steps and steps[-1].commit == until):
            steps = tuple(self._all_steps(after, until))
        self._walked = BEGINNING, ()
        for step in steps:
            for each in step.changes:
                self._check(each)
                yield each

    def rest(self) -> None:
        """Hold on to nothing: all that there is has been read."""
        self._held = None

    def close(self) -> None:
        """Let go of everything."""
        self.rest()
        if self._repository is not None:
            self._repository.close()
            self._repository = None

    @property
    def _begins_at_once(self) -> bool:
        return self._options.starting in {LATEST, SNAPSHOT}

    def _all_steps(self, after: str, until: str) -> Iterator[_Step]:
        """Walk a range that is known already."""
        if after == BEGINNING and self._options.since is None and self._begins_at_once:
            if self._options.starting == SNAPSHOT:
                now = self._open().snapshot(self._options.branch, commit=until)
                self._held = self._open().diff(None, now)
                yield self._step(now.commit, self._held)
            return
        for step in self._steps(after, until):
            yield step
            if step.commit == until:
                return
        raise NotOnBranch(branch=self._options.branch, reference=until)

    def _steps(self, after: str, until: str) -> Iterator[_Step]:
        since = after if after != BEGINNING else self._options.since
        self._held = None
        for each in self._open().changes(since, self._options.branch):
            if self._held is None:
                self._held = each.diff
            yield self._step(each.commit, each.diff)
            if each.cursor == until:
                return

    def _step(self, commit: GraphCommit | None, diff: Diff) -> _Step:
        if commit is None:
            raise NotOnBranch(branch=self._options.branch, reference=str(diff.after.version))
        stamp = Stamp(commit.graph_commit_id, commit.manifest_version, commit.created_at)
        table = self._options.table
        if table not in diff.before.tables and table not in diff.after.tables:
            return _Step(stamp.commit, ())
        parts = diff.share(table, rows_of_a_part=self._options.partition_rows)
        return _Step(stamp.commit, tuple(Changes(stamp, part) for part in parts))

    def _check(self, found: Changes) -> None:
        if found.stamp.version > self._plan.version:
            check_newer(
                found.part.schema,
                self._stream,
                found.stamp,
                table_key=self._options.table,
                all_of_them=self._options.columns is None,
            )

    def _open(self) -> Repository:
        if self._repository is None:
            self._repository = opened(self._options.place)
        return self._repository
