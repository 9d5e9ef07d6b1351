"""``verify`` on a cluster: what needs all rows is done by executors, the rest by ``omnigraph_l2``.

Always: the findings are those of ``Repository.verify``, of what branches and tags show; nothing is
written. Each version of a table is looked at once, however many branches show it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, Final

import attrs
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from omnigraph_l2 import (
    Finding,
    OmniGraphError,
    ReadTarget,
    Repository,
    Severity,
    Snapshot,
    VerifyReport,
)
from omnigraph_l2.errors import UnknownBranch, UnknownTag
from omnigraph_spark._errors.carrying import cause_of
from omnigraph_spark._jobs.at_once import at_once
from omnigraph_spark._jobs.progress import Progress, Tell
from omnigraph_spark._writing.checking import counted, nodes_of
from omnigraph_spark._writing.frames import parts_of, rows_of, run
from omnigraph_spark._writing.tasks import ROWS_AT_ONCE

__all__ = ["verify"]

_SHOWN: Final = 10
_ENDS: Final = ("src", "dst")
_MEND: Final = "delete or rename rows until it holds, in a transaction"
_COPY: Final = "bring the files back from a copy, or revert to a version that is whole"
_UNREADABLE: Final = {"table-unreadable", "data-unreadable", "moved"}
_ORDER: Final = list(Severity)


def verify(
    spark: SparkSession,
    uri: str,
    *,
    tables: Collection[str] | None = None,
    dangling_edges: bool = False,
    duplicates: bool = True,
    values: bool = False,
    storage_options: Mapping[str, str] | None = None,
    progress: Tell | None = None,
) -> VerifyReport:
    """Check all that should hold; the arguments are those of ``Repository.verify``."""
    telling = Progress(progress)
    with Repository.open(uri, dict(storage_options or {}) or None) as repo:
        telling.say(f"catalog, history and files of {repo.uri}")
        report = repo.verify(tables=tables, duplicates=False)
        telling.say(str(report).splitlines()[0])
        looks = _Looks(spark, report, frozenset(tables) if tables is not None else None)
        for moment in _moments(repo, report):
            looks.add(moment, duplicates=duplicates, values=values, edges=dangling_edges)
        findings = list(report.findings)
        for look, found in at_once(lambda each: each.work(), looks.found.values()):
            findings += found
            telling.say(f"{look.told}: {len(found) or 'no'} findings")
        findings.sort(key=lambda each: _ORDER.index(each.severity))
        return attrs.evolve(report, findings=tuple(dict.fromkeys(findings)))


@attrs.frozen
class _Moment:
    subject: str
    snapshot: Snapshot
    find: Callable[[], object]
    """Looks the branch or tag up."""

    def stands(self) -> bool:
        """Tell whether it is there still: what is deleted meanwhile is no finding."""
        try:
            self.find()
        except (UnknownBranch, UnknownTag):
            return False
        return True


@attrs.frozen
class _Look:
    told: str
    work: Callable[[], list[Finding]]


@attrs.frozen
class _Looks:
    """What is to be looked at, each version of a table once."""

    spark: SparkSession
    report: VerifyReport
    wanted: frozenset[str] | None
    found: dict[Any, _Look] = attrs.field(factory=dict)

    def add(self, moment: _Moment, *, duplicates: bool, values: bool, edges: bool) -> None:
        """Add what one branch or tag shows."""
        subject, snapshot = moment.subject, moment.snapshot
        schema = snapshot.schema
        unique = {each.table_key: each.unique for each in schema.nodes}
        unique |= {each.table_key: each.unique for each in schema.edges}
        for key in snapshot.tables:
            if self.wanted is None or key in self.wanted:
                named = f"{key} at version {snapshot.tables[key].table_version} ({subject})"
                if duplicates:
                    self._add(named, "twice", moment, [key], self._repeated, *unique[key])
                if values:
                    self._add(named, "values", moment, [key], self._unreadable)
        for edge in schema.edges if edges else ():
            if self.wanted is None or edge.table_key in self.wanted:
                for column in _ENDS:
                    keys = [edge.table_key, *nodes_of(schema, edge, column)]
                    named = f"{edge.table_key} of {subject}"
                    self._add(named, "ends", moment, keys, self._dangling, column)

    def _add(
        self,
        subject: str,
        kind: str,
        moment: _Moment,
        keys: list[str],
        look: Callable[..., list[Finding]],
        *more: str,
    ) -> None:
        snapshot = moment.snapshot
        pins = [snapshot.tables[key] for key in keys]
        places = [(each.table_path, each.table_branch, each.table_version) for each in pins]

        def work() -> list[Finding]:
            try:
                return look(subject, [snapshot.share(key) for key in keys], *more)
            except (OmniGraphError, PySparkException) as error:
                cause = cause_of(error)
                if cause is None:
                    raise
                if self._is_known(keys) or not moment.stands():
                    return []
                return [_error("table-unreadable", subject, str(cause), _COPY)]

        told = f"{subject}, {' '.join([kind, *more])}"
        self.found.setdefault((kind, *more, *places), _Look(told, work))

    def _is_known(self, keys: list[str]) -> bool:
        """Tell whether it was found before that one of the tables cannot be read."""
        unread = [each.subject for each in self.report.findings if each.kind in _UNREADABLE]
        return any(f"{key} at " in subject for key in keys for subject in unread)

    def _repeated(self, subject: str, targets: list[ReadTarget], *unique: str) -> list[Finding]:
        (target,) = targets
        findings = []
        for column in ("id", *unique):
            rows = rows_of(self.spark, target, [column]).withColumnRenamed(column, "id")
            if column == "id" and target.schema.field("id").nullable:
                nulls = rows.where("id is null").count()
                if nulls:
                    findings.append(_error("null-id", subject, f"{nulls} rows have no id", _MEND))
            both = counted([(rows.where("id is not null"), 1, 0)])
            found = [row.id for row in both.where("new > 1").limit(_SHOWN).collect()]
            if found:
                named = ", ".join(map(repr, sorted(found)))
                kind, detail = "duplicate-id", f"ids that stand more than once: {named}"
                if column != "id":
                    kind = "duplicate-value"
                    detail = f"{column!r} is unique, and has values that stand twice: {named}"
                findings.append(_error(kind, subject, detail, _MEND))
        return findings

    def _unreadable(self, subject: str, targets: list[ReadTarget]) -> list[Finding]:
        (target,) = targets
        parts = tuple(parts_of(target))
        if not parts:
            return []
        numbers = self.spark.range(0, len(parts), 1, len(parts))
        told = [each for some in run(numbers, _Whole(target, parts)) for each in some]
        return [
            _error("data-unreadable", f"fragments {named} of {subject}", detail, _COPY)
            for named, detail in told
        ]

    def _dangling(self, subject: str, targets: list[ReadTarget], column: str) -> list[Finding]:
        edges, *nodes = targets
        frames = [(rows_of(self.spark, edges, [column]).withColumnRenamed(column, "id"), 1, 0)]
        frames += [(rows_of(self.spark, node, ["id"]), 0, 1) for node in nodes]
        missing = counted(frames).where("new > 0 and old = 0").limit(_SHOWN).collect()
        if not missing:
            return []
        named = ", ".join(repr(row.id) for row in sorted(missing))
        detail = f"its {column!r} names nodes that are not there: {named}"
        remedy = "add the nodes, or delete the edges"
        return [_error("dangling-edge", subject, detail, remedy)]


@attrs.frozen
class _Whole:
    """Reads every value of some fragments, in a task; tells which it could not read."""

    target: ReadTarget
    parts: tuple[tuple[int, ...], ...]

    def __call__(self, numbers: pa.RecordBatchReader) -> list[tuple[str, str]]:
        """Read them."""
        wanted = [number for batch in numbers for number in batch.column(0).to_pylist()]
        return [found for number in wanted for found in self._read(self.parts[number])]

    def _read(self, fragments: tuple[int, ...]) -> Iterator[tuple[str, str]]:
        try:
            for _ in self.target.scan(fragments=fragments, batch_size=ROWS_AT_ONCE):
                pass
        except OmniGraphError as error:
            if len(fragments) == 1:
                yield str(fragments[0]), str(error)
            else:  # one by one, to name those that are broken
                for each in fragments:
                    yield from self._read((each,))


def _moments(repo: Repository, report: VerifyReport) -> Iterator[_Moment]:
    """Give what branches and tags show; what cannot be read is among the findings already."""
    asked: list[tuple[str, Callable[[], Snapshot], Callable[[], object]]] = [
        (
            f"branch {each.name}",
            partial(repo.snapshot, each.name),
            partial(repo.branches.get, each.name),
        )
        for each in repo.branches.list()
    ]
    asked += [
        (
            f"tag {each.name}",
            partial(repo.snapshot, tag=each.name),
            partial(repo.tags.get, each.name),
        )
        for each in repo.tags.list()
    ]
    for subject, ask, find in asked:
        try:
            yield _Moment(subject, ask(), find)
        except OmniGraphError:
            if all(each.severity is not Severity.ERROR for each in report.findings):
                raise


def _error(kind: str, subject: str, detail: str, remedy: str) -> Finding:
    return Finding(
        severity=Severity.ERROR, kind=kind, subject=subject, detail=detail, remedy=remedy
    )
