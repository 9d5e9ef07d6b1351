"""The steps of a load: judge all rows, set the rejected ones aside, write the good ones.

Always: nodes are judged before edges, whose ends must be among those that are loaded now or are
there already. The files are read once: judged rows are kept on the executors, spilled to their
disks where memory is short, because they are counted, looked up, set aside and written, and because
files that change meanwhile would otherwise give other rows each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Final

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from omnigraph_l2 import EdgeType
from omnigraph_l2.errors import DanglingEdges
from omnigraph_spark._jobs.failing import failing
from omnigraph_spark._jobs.loading.fitting import ENDS, ID, Fitted
from omnigraph_spark._jobs.loading.judging import (
    EXISTS,
    MISSING_END,
    Counts,
    Ids,
    Judged,
    counted,
    judged,
    rejecting,
    settled,
)
from omnigraph_spark._jobs.loading.lookups import also_in, not_in, repeated
from omnigraph_spark._jobs.loading.mapping import APPEND, OVERWRITE, UPSERT, Allowed
from omnigraph_spark._jobs.loading.report import LoadedTable, counts_of
from omnigraph_spark._jobs.output import folder_of
from omnigraph_spark._jobs.progress import Progress
from omnigraph_spark._writing.frames import rows_of
from omnigraph_spark._writing.transaction import SparkTransaction
from omnigraph_spark.errors import LoadFailed, TooManyRejects

__all__ = ["Work", "step"]

_SHOWN: Final = 10
_EXAMPLES: Final = 3


def step(name: str, table_key: str) -> AbstractContextManager[None]:
    """Do a step of a load: what Spark cannot do is ``LoadFailed``."""
    return failing(lambda detail: LoadFailed(step=name, table_key=table_key, detail=detail))


@attrs.frozen
class Work:
    """One load, in its transaction."""

    spark: SparkSession
    tx: SparkTransaction
    telling: Progress
    held: ExitStack
    """Lets go of what is kept on executors."""

    def judge(self, tables: Sequence[Fitted]) -> dict[Judged, Counts]:
        """Find the fate of each row."""
        found: dict[str, tuple[Judged, Counts]] = {}
        for fitted in sorted(tables, key=lambda each: each.mapping.is_edge):
            key = fitted.mapping.table
            with step("Reading", key):
                rows, counts = self._read(fitted)
            with step("Checking", key):
                checked = self._checked(rows, {name: each[0] for name, each in found.items()})
                if checked is not rows:
                    before, counts = counts, counted(checked)
                    _same(key, "rows were read, and later", before.read, counts.read)
            lost = f"; rejected: {counts_of(counts.rejected)}" if counts.rejected else ""
            self.telling.say(f"{key}: {counts.good:,} rows are good{lost}")
            found[key] = checked, counts
        return dict(found.values())

    def set_aside(
        self, found: Mapping[Judged, Counts], folder: str | None, allowed: Allowed
    ) -> str | None:
        """Write rejected rows; raise ``TooManyRejects`` where there are too many."""
        bad = {rows: counts for rows, counts in found.items() if counts.rejected}
        for rows, counts in bad.items():
            if folder is not None:
                with step("Writing the rejected rows of", rows.table):
                    _write_rejects(rows, folder_of(folder, rows.table))
                self.telling.say(f"{rows.table}: {sum(counts.rejected.values()):,} set aside")
        read = sum(counts.read for counts in found.values())
        rejected = sum(sum(counts.rejected.values()) for counts in bad.values())
        if rejected > allowed.of(read):
            raise TooManyRejects(
                read=read,
                rejected=rejected,
                allowed=str(allowed),
                counts=tuple(f"{rows.table}: {counts_of(c.rejected)}" for rows, c in bad.items()),
                examples=tuple(each for rows in bad for each in _examples(rows)),
                folder=folder,
            )
        return folder if bad else None

    def write(self, found: Mapping[Judged, Counts]) -> dict[str, LoadedTable]:
        """Write the good rows; they are visible when the transaction ends."""
        done = {}
        for rows, counts in found.items():
            key, mode = rows.table, rows.fitted.mapping.mode
            began = self.telling.seconds
            with step("Writing", key):
                how = {APPEND: self.tx.append, UPSERT: self.tx.upsert, OVERWRITE: self.tx.overwrite}
                how[mode](key, rows.good)
            _same(key, "rows are good, and written were", counts.good, self.tx.rows[key])
            self.telling.say(f"{key}: {counts.good:,} rows written{self._rate(counts.good, began)}")
            done[key] = LoadedTable(
                table_key=key,
                mode=mode,
                read=counts.read,
                loaded=counts.good,
                rejected=counts.rejected,
                left_out=counts.left,
            )
        return done

    def _read(self, fitted: Fitted) -> tuple[Judged, Counts]:
        mapping = fitted.mapping
        self.telling.say(f"reading {mapping.table}: {', '.join(mapping.files)} ({mapping.format})")
        if fitted.unused:
            self.telling.say(f"{mapping.table}: not loaded: {', '.join(fitted.unused)}")
        began = self.telling.seconds
        rows = judged(fitted)
        rows = attrs.evolve(rows, frame=self._kept(rows.frame))
        counts = counted(rows)
        rate = self._rate(counts.read, began)
        self.telling.say(f"{mapping.table}: {counts.read:,} rows read{rate}")
        return rows, counts

    def _checked(self, rows: Judged, before: Mapping[str, Judged]) -> Judged:
        key, mapping = rows.table, rows.fitted.mapping
        if mapping.mode == APPEND and (there := self._there(key)):
            why = "the id '{}' is in the graph already"
            old = self._ids(also_in(rows.good, there))
            rows = rejecting(rows, ID, old, EXISTS, why) if old.count else rows
        if mapping.is_edge:
            rows = self._ends(rows, before)
        twice = self._ids(repeated(rows.good))
        return settled(rows, twice) if twice.count else rows

    def _ends(self, rows: Judged, before: Mapping[str, Judged]) -> Judged:
        for nodes, names in self._nodes_by_ends(rows.table).items():
            known = [frame for node in nodes for frame in self._nodes(node, before.get(node))]
            lost = self._ids(not_in(rows.good, names, known))
            if not lost.count:
                continue
            if rows.fitted.mapping.missing_ends == "fail":
                shown = lost.frame.orderBy(ID).limit(_SHOWN).collect()
                raise DanglingEdges(
                    table_key=rows.table,
                    column=" or ".join(names),
                    node_tables=nodes,
                    missing=tuple(row.id for row in shown),
                )
            for name in names:
                why = f"{name} is '{{}}', and there is no such {' or '.join(nodes)}"
                rows = rejecting(rows, name, lost, MISSING_END, why)
        return rows

    def _nodes_by_ends(self, key: str) -> dict[tuple[str, ...], list[str]]:
        """Tell in which tables the nodes are: mostly both ends are looked up together."""
        schema = self.tx.snapshot.schema
        declared = schema[key]
        assert isinstance(declared, EdgeType)  # noqa: S101 - its key says so
        found: dict[tuple[str, ...], list[str]] = {}
        for name, kind in zip(ENDS, (declared.source, declared.target), strict=True):
            # Declared by the original program: then any node will do.
            nodes = (each.table_key for each in schema.nodes if kind in {None, each.name})
            found.setdefault(tuple(nodes), []).append(name)
        return found

    def _nodes(self, key: str, loaded: Judged | None) -> list[DataFrame]:
        now = [] if loaded is None else [loaded.good.select(ID)]
        replaced = loaded is not None and loaded.fitted.mapping.mode == OVERWRITE
        return now if replaced else [*now, *self._there(key)]

    def _there(self, key: str) -> list[DataFrame]:
        """Give the ids that a table has, if it has any."""
        shared = self.tx.snapshot.share(key)
        return [rows_of(self.spark, shared, [ID])] if shared.count else []

    def _ids(self, frame: DataFrame) -> Ids:
        kept = self._kept(frame)
        return Ids(kept, kept.count())

    def _kept(self, frame: DataFrame) -> DataFrame:
        kept = frame.persist()
        self.held.callback(kept.unpersist)
        return kept

    def _rate(self, rows: int, began: float) -> str:
        seconds = max(self.telling.seconds - began, 0.001)
        return f" in {seconds:.1f} s, {rows / seconds:,.0f} a second"


def _same(key: str, what: str, expected: int, found: int) -> None:
    if expected != found:
        detail = f"{expected} {what} {found}: did files change meanwhile?"
        raise LoadFailed(step="Counting", table_key=key, detail=detail)


def _write_rejects(rows: Judged, folder: str) -> None:
    told = rows.rejected.select(F.lit(rows.table).alias("table"), "*")
    told.write.mode("error").option("ignoreNullFields", False).json(folder)


def _examples(rows: Judged) -> list[str]:
    with step("Reading", rows.table):
        found = rows.rejected.orderBy("file", "detail").limit(_EXAMPLES).collect()
    return [f"{rows.table}: {row.detail}" for row in found]
