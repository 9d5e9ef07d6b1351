"""Checks of tables that need all rows, done by executors: ids, unique values, endpoints, values.

Invariant: each version of a table is checked once, however many branches show it. The driver sees
what is wrong, never rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from omnigraph_l2 import OmniGraphError, ReadTarget, Snapshot, VerifyReport
from omnigraph_l2.errors import UnknownBranch, UnknownTag
from omnigraph_l2.reports import Finding, Severity
from omnigraph_spark._convert.error_transport import cause_of
from omnigraph_spark._write.driver_frames import group_fragments, read_rows, run_on_partitions
from omnigraph_spark._write.executor_tasks import ROWS_AT_ONCE
from omnigraph_spark._write.integrity_checks import count_ids, end_tables

__all__ = ["Revision", "TableChecks", "is_present"]

_SHOWN: Final = 10
_ENDS: Final = ("src", "dst")
_MEND: Final = "delete or rename rows until it holds, in a transaction"
_COPY: Final = "bring the files back from a copy, or revert to a version that is whole"
_UNREADABLE: Final = {"table-unreadable", "data-unreadable", "moved"}


@attrs.frozen
class Revision:
    """The snapshot of one branch or tag."""

    subject: str
    snapshot: Snapshot
    find: Callable[[], object]
    """Looks the branch or tag up."""


def is_present(find: Callable[[], object]) -> bool:
    """Return whether a branch or tag still exists. One deleted in between is no finding."""
    try:
        find()
    except (UnknownBranch, UnknownTag):
        return False
    return True


@attrs.frozen
class _Check:
    label: str
    work: Callable[[], list[Finding]]


@attrs.frozen
class TableChecks:
    """The checks to run, each version of a table once."""

    spark: SparkSession
    report: VerifyReport
    wanted: frozenset[str] | None
    found: dict[Any, _Check] = attrs.field(factory=dict)

    def add(self, revision: Revision, *, duplicates: bool, values: bool, edges: bool) -> None:
        """Add the checks of one branch or tag."""
        subject, snapshot = revision.subject, revision.snapshot
        schema = snapshot.schema
        unique = {each.table_key: each.unique for each in schema.nodes}
        unique |= {each.table_key: each.unique for each in schema.edges}
        for key in snapshot.tables:
            if self.wanted is None or key in self.wanted:
                names = f"{key} at version {snapshot.tables[key].table_version} ({subject})"
                if duplicates:
                    self._add(names, "twice", revision, [key], self._find_duplicates, *unique[key])
                if values:
                    self._add(names, "values", revision, [key], self._find_unreadable)
        for edge in schema.edges if edges else ():
            if self.wanted is None or edge.table_key in self.wanted:
                for column in _ENDS:
                    keys = [edge.table_key, *end_tables(schema, edge, column)]
                    names = f"{edge.table_key} of {subject}"
                    self._add(names, "ends", revision, keys, self._find_dangling, column)

    def _add(
        self,
        subject: str,
        kind: str,
        revision: Revision,
        keys: list[str],
        check: Callable[..., list[Finding]],
        *more: str,
    ) -> None:
        snapshot = revision.snapshot
        pins = [snapshot.tables[key] for key in keys]
        places = [(each.table_path, each.table_branch, each.table_version) for each in pins]

        def work() -> list[Finding]:
            try:
                return check(subject, [snapshot.share(key) for key in keys], *more)
            except (OmniGraphError, PySparkException) as error:
                cause = cause_of(error)
                if cause is None:
                    raise
                if self._is_known(keys) or not is_present(revision.find):
                    return []
                return [_finding("table-unreadable", subject, str(cause), _COPY)]

        label = f"{subject}, {' '.join([kind, *more])}"
        self.found.setdefault((kind, *more, *places), _Check(label, work))

    def _is_known(self, keys: list[str]) -> bool:
        """Return whether the report says already that one of the tables is unreadable."""
        unread = [each.subject for each in self.report.findings if each.kind in _UNREADABLE]
        return any(f"{key} at " in subject for key in keys for subject in unread)

    def _is_known_of(self, fragment: str, target: ReadTarget) -> bool:
        table = f" of {target.table_key} at version {target.table_version} "
        return any(
            each.subject.startswith(f"fragment {fragment} (") and table in each.subject
            for each in self.report.findings
            if each.kind == "data-unreadable"
        )

    def _find_duplicates(
        self, subject: str, targets: list[ReadTarget], *unique: str
    ) -> list[Finding]:
        (target,) = targets
        findings = []
        for column in ("id", *unique):
            rows = read_rows(self.spark, target, [column]).withColumnRenamed(column, "id")
            if column == "id" and target.schema.field("id").nullable:
                nulls = rows.where("id is null").count()
                if nulls:
                    findings.append(_finding("null-id", subject, f"{nulls} rows have no id", _MEND))
            both = count_ids([(rows.where("id is not null"), 1, 0)])
            found = both.where("new > 1").orderBy("id").limit(_SHOWN).collect()
            if found:
                names = ", ".join(repr(row.id) for row in found)
                kind, detail = "duplicate-id", f"ids that occur more than once: {names}"
                if column != "id":
                    kind = "duplicate-value"
                    detail = (
                        f"{column!r} is unique, and has values that occur more than once: {names}"
                    )
                findings.append(_finding(kind, subject, detail, _MEND))
        return findings

    def _find_unreadable(self, subject: str, targets: list[ReadTarget]) -> list[Finding]:
        (target,) = targets
        parts = tuple(group_fragments(target))
        if not parts:
            return []
        numbers = self.spark.range(0, len(parts), 1, len(parts))
        label = [
            each for some in run_on_partitions(numbers, _FullScan(target, parts)) for each in some
        ]
        label = [each for each in label if not self._is_known_of(each[0], target)]
        return [
            _finding("data-unreadable", f"fragment {names} of {subject}", detail, _COPY)
            for names, detail in label
        ]

    def _find_dangling(self, subject: str, targets: list[ReadTarget], column: str) -> list[Finding]:
        edges, *nodes = targets
        frames = [(read_rows(self.spark, edges, [column]).withColumnRenamed(column, "id"), 1, 0)]
        frames += [(read_rows(self.spark, node, ["id"]), 0, 1) for node in nodes]
        missing = (
            count_ids(frames).where("new > 0 and old = 0").orderBy("id").limit(_SHOWN).collect()
        )
        if not missing:
            return []
        names = ", ".join(repr(row.id) for row in missing)
        detail = f"its {column!r} names nodes that are not there: {names}"
        remedy = "add the nodes, or delete the edges"
        return [_finding("dangling-edge", subject, detail, remedy)]


@attrs.frozen
class _FullScan:
    """Reads every value of some fragments, in a task; returns those that it could not read."""

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


def _finding(kind: str, subject: str, detail: str, remedy: str) -> Finding:
    return Finding(
        severity=Severity.ERROR, kind=kind, subject=subject, detail=detail, remedy=remedy
    )
