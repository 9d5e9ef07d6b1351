"""What is looked at in tables, by executors: ids, unique values, ends of edges, all values.

Always: each version of a table is looked at once, however many branches show it; the driver sees
what is wrong, and no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from omnigraph_l2 import Finding, OmniGraphError, ReadTarget, Severity, Snapshot, VerifyReport
from omnigraph_l2.errors import UnknownBranch, UnknownTag
from omnigraph_spark._errors.carrying import cause_of
from omnigraph_spark._writing.checking import counted, nodes_of
from omnigraph_spark._writing.frames import parts_of, rows_of, run
from omnigraph_spark._writing.tasks import ROWS_AT_ONCE

__all__ = ["Looks", "Moment", "stands"]

_SHOWN: Final = 10
_ENDS: Final = ("src", "dst")
_MEND: Final = "delete or rename rows until it holds, in a transaction"
_COPY: Final = "bring the files back from a copy, or revert to a version that is whole"
_UNREADABLE: Final = {"table-unreadable", "data-unreadable", "moved"}


@attrs.frozen
class Moment:
    """What one branch or tag shows."""

    subject: str
    snapshot: Snapshot
    find: Callable[[], object]
    """Looks the branch or tag up."""


def stands(find: Callable[[], object]) -> bool:
    """Tell whether a branch or tag is there still: what is deleted meanwhile is no finding."""
    try:
        find()
    except (UnknownBranch, UnknownTag):
        return False
    return True


@attrs.frozen
class _Look:
    told: str
    work: Callable[[], list[Finding]]


@attrs.frozen
class Looks:
    """What is to be looked at, each version of a table once."""

    spark: SparkSession
    report: VerifyReport
    wanted: frozenset[str] | None
    found: dict[Any, _Look] = attrs.field(factory=dict)

    def add(self, moment: Moment, *, duplicates: bool, values: bool, edges: bool) -> None:
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
        moment: Moment,
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
                if self._is_known(keys) or not stands(moment.find):
                    return []
                return [_error("table-unreadable", subject, str(cause), _COPY)]

        told = f"{subject}, {' '.join([kind, *more])}"
        self.found.setdefault((kind, *more, *places), _Look(told, work))

    def _is_known(self, keys: list[str]) -> bool:
        """Tell whether it was found before that one of the tables cannot be read."""
        unread = [each.subject for each in self.report.findings if each.kind in _UNREADABLE]
        return any(f"{key} at " in subject for key in keys for subject in unread)

    def _is_known_of(self, fragment: str, target: ReadTarget) -> bool:
        table = f" of {target.table_key} at version {target.table_version} "
        return any(
            each.subject.startswith(f"fragment {fragment} (") and table in each.subject
            for each in self.report.findings
            if each.kind == "data-unreadable"
        )

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
            found = both.where("new > 1").orderBy("id").limit(_SHOWN).collect()
            if found:
                named = ", ".join(repr(row.id) for row in found)
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
        told = [each for each in told if not self._is_known_of(each[0], target)]
        return [
            _error("data-unreadable", f"fragment {named} of {subject}", detail, _COPY)
            for named, detail in told
        ]

    def _dangling(self, subject: str, targets: list[ReadTarget], column: str) -> list[Finding]:
        edges, *nodes = targets
        frames = [(rows_of(self.spark, edges, [column]).withColumnRenamed(column, "id"), 1, 0)]
        frames += [(rows_of(self.spark, node, ["id"]), 0, 1) for node in nodes]
        missing = counted(frames).where("new > 0 and old = 0").orderBy("id").limit(_SHOWN).collect()
        if not missing:
            return []
        named = ", ".join(repr(row.id) for row in missing)
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


def _error(kind: str, subject: str, detail: str, remedy: str) -> Finding:
    return Finding(
        severity=Severity.ERROR, kind=kind, subject=subject, detail=detail, remedy=remedy
    )
