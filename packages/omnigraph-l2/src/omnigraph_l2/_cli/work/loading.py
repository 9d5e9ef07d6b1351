"""``load``: files into tables, as one commit or not at all.

Always: what is wrong with the words, the tables and the settings is told before a file is read. The
same operation again reads nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from omnigraph_l2 import Snapshot, Transaction
from omnigraph_l2._cli.options import Job
from omnigraph_l2._cli.output import Output
from omnigraph_l2._cli.status import UsageError
from omnigraph_l2._cli.work.asking import decided
from omnigraph_l2._cli.work.load.files import size_of
from omnigraph_l2._cli.work.load.progress import shown_progress
from omnigraph_l2._cli.work.load.rejects import Allowed, Rejects
from omnigraph_l2._cli.work.load.stream import Counts, TableStream
from omnigraph_l2._cli.work.load.words import FileWord, files_by_table, formatted

__all__ = ["Order", "load"]


@frozen(kw_only=True)
class Order:
    """What is to be loaded, and how."""

    words: tuple[str, ...]
    mode: str
    format: str | None
    branch: str
    rejects: Path | None
    max_rejects: str
    operation_hash: str | None
    message: str | None


def load(job: Job, order: Order, *, yes: bool) -> int:
    """Bring files into tables."""
    files = _files(order)
    allowed = Allowed.of(order.max_rejects)
    start = time.monotonic()
    with job.open() as repo:
        snapshot = repo.snapshot(order.branch)
        for key in files:
            snapshot.entry(key)
        if order.mode == "overwrite" and not yes:
            return _not_overwritten(job, snapshot, files)
        with Rejects(order.rejects, allowed) as rejects:
            transaction = repo.transaction(
                order.branch, message=order.message, operation_hash=order.operation_hash
            )
            with transaction as tx:
                streams = [] if tx.is_repeat else _loaded(job.out, tx, order, files, rejects)
        report = _report(tx, streams, rejects, order, time.monotonic() - start)
    _tell(job, report, streams, rejects)
    return 0


def _files(order: Order) -> dict[str, list[FileWord]]:
    words = files_by_table(order.words)
    if not words:
        message = "say what to load: a table and its files, as in node:Person people.csv"
        raise UsageError(message)
    if None in words:
        message = f"say a table before {words[None][0]}, as in node:Person {words[None][0]}"
        raise UsageError(message)
    return {
        key: [formatted(name, order.format) for name in names]
        for key, names in words.items()
        if key is not None
    }


def _not_overwritten(job: Job, snapshot: Snapshot, files: Mapping[str, Any]) -> int:
    rows = {key: snapshot.entry(key).row_count for key in files}
    told = ", ".join(f"{count:,} rows of {key}" for key, count in rows.items())
    text = f"{told} on {snapshot.branch}; older snapshots keep them"
    return decided(job, "replace", {"branch": snapshot.branch, "rows": rows}, text, yes=False)


def _loaded(
    out: Output,
    tx: Transaction,
    order: Order,
    files: Mapping[str, list[FileWord]],
    rejects: Rejects,
) -> list[TableStream]:
    counts, streams = Counts(), []
    total = size_of([word for words in files.values() for word in words])
    with shown_progress(out, total) as advance:
        for key, words in files.items():
            stream = TableStream(
                key, words, tx.snapshot, rejects, is_upsert=order.mode == "upsert",
                advance=advance, counts=counts,
            )  # fmt: skip
            _write(tx, order.mode, stream)
            streams.append(stream)
        rejects.check(counts.rows, at_end=True)
        advance("publishing", counts.bytes, counts.rows)
    return streams


def _write(tx: Transaction, mode: str, stream: TableStream) -> None:
    """Give the stream to the transaction; what failed in it is told as it was."""
    try:
        getattr(tx, mode)(stream.key, stream.reader())
    except Exception:
        if stream.failure is not None:
            raise stream.failure from None
        raise


def _report(
    tx: Transaction,
    streams: list[TableStream],
    rejects: Rejects,
    order: Order,
    seconds: float,
) -> dict[str, Any]:
    tables = {
        each.key: {
            "read": each.read,
            "loaded": each.loaded,
            "rejected": dict(rejects.by_table.get(each.key, {})),
        }
        for each in streams
    }
    return {
        "commit_id": None if tx.commit is None else tx.commit.graph_commit_id,
        "branch": order.branch,
        "mode": order.mode,
        "repeated": tx.is_repeat,
        "read": sum(each.read for each in streams),
        "loaded": sum(each.loaded for each in streams),
        "rejected": rejects.count,
        "rejects": str(order.rejects) if order.rejects is not None and rejects.count else None,
        "tables": tables,
        "seconds": round(seconds, 3),
    }


def _tell(
    job: Job, report: Mapping[str, Any], streams: list[TableStream], rejects: Rejects
) -> None:
    if job.out.json:
        job.out.document(report)
        return
    if report["repeated"]:
        job.out.line(f"done before, as commit {report['commit_id']}: nothing was read")
        return
    for each in streams:
        reasons = dict(rejects.by_table.get(each.key, ()))
        told = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
        job.out.line(
            (each.key, "bold"), f"  {each.loaded:,} of {each.read:,} rows",
            (f"  rejected: {told}" if told else "", "yellow"),
        )  # fmt: skip
    if report["rejects"] is not None:
        job.out.line(f"rejected rows are in {report['rejects']}")
    else:
        for line in rejects.first:
            job.out.warn(f"rejected: {line}")
    rate = report["read"] / max(report["seconds"], 0.001)
    commit = report["commit_id"]
    made = "nothing was to be changed" if commit is None else f"commit {commit}"
    job.out.line(f"{made} in {report['seconds']:.1f} s, {rate:,.0f} rows a second")
