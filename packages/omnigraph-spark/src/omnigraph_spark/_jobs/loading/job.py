"""``load``: files into the tables of a graph, in one publish.

Always: everything becomes visible together or nothing does, and no row is lost: those that were
read are loaded, rejected with a reason, or left out because the mapping says so; otherwise the
load fails. Nothing on the driver grows with the number of rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs
from pyspark.sql import SparkSession

from omnigraph_spark._jobs.loading.fitting import fitted
from omnigraph_spark._jobs.loading.parsing import allowed, read_mapping
from omnigraph_spark._jobs.loading.report import LoadedTable, LoadReport
from omnigraph_spark._jobs.loading.sources import has_scheme
from omnigraph_spark._jobs.loading.working import Work, step
from omnigraph_spark._jobs.output import refuse_inside
from omnigraph_spark._jobs.progress import Progress, Tell
from omnigraph_spark._writing.transaction import transaction

__all__ = ["load"]


def load(
    spark: SparkSession,
    uri: str,
    mapping: str | Path | Mapping[str, Any],
    *,
    branch: str = "main",
    actor: str | None = None,
    message: str | None = None,
    operation_hash: str | None = None,
    rejects: str | None = None,
    max_rejects: int | str | None = None,
    base: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Tell | None = None,
) -> LoadReport:
    """Load files into tables of a graph, as a mapping says: a TOML file, or the same as a dict.

    Files are relative to the folder of the mapping, or to ``base``. Rows that do not fit are
    written below ``rejects``, and ``max_rejects`` says how many there may be, where the mapping
    does not. The same ``operation_hash`` again does nothing, for ever.
    """
    telling = Progress(progress)
    if rejects is not None:
        refuse_inside(uri, "rejects", rejects)
    wanted, folder = read_mapping(mapping)
    if max_rejects is not None:
        wanted = attrs.evolve(wanted, max_rejects=allowed(max_rejects))
    if base is not None:
        folder = _rooted(base)
    tables: dict[str, LoadedTable] = {}
    aside = None
    with ExitStack() as held, step("Publishing", "the tables"):
        with transaction(
            spark,
            uri,
            branch=branch,
            actor=actor,
            message=message,
            operation_hash=operation_hash,
            storage_options=storage_options,
        ) as tx:
            repeated = tx.is_repeat
            if not repeated:
                work = Work(spark, tx, telling, held)
                rows = work.judge(fitted(spark, wanted, tx.snapshot.schema, folder))
                where = None if rejects is None else f"{_rooted(rejects)}/{tx.commit_id}"
                aside = work.set_aside(rows, where, wanted.max_rejects)
                tables = work.write(rows)
                telling.say("checking what was written, and publishing")
        report = LoadReport(
            uri=uri,
            branch=branch,
            commit_id=None if tx.commit is None else tx.commit.graph_commit_id,
            repeated=repeated,
            tables=tables,
            rejects=aside,
            seconds=telling.seconds,
        )
    telling.say(str(report).partition("\n")[0])
    return report


def _rooted(place: str) -> str:
    """Give a folder with its root, as Spark is to know it; what has a scheme is left alone."""
    return place.rstrip("/") if has_scheme(place) else os.path.abspath(place)  # noqa: PTH100
