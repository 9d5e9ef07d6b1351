"""``load``: files into tables, as one commit or not at all.

Invariant: invalid arguments, tables and settings are reported before a file is read. A repeated
operation reads no file.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from omnigraph_l2 import Snapshot, Transaction
from omnigraph_l2._cli.actions.load_progress import show_progress
from omnigraph_l2._cli.actions.rejected_rows import Allowed, Rejects
from omnigraph_l2._cli.actions.table_stream import Counts, TableStream
from omnigraph_l2._cli.common_options import Job, announce
from omnigraph_l2._cli.exit_status import UsageError
from omnigraph_l2._cli.formats.input_files import (
    InputFile,
    group_files,
    parse_file_name,
    total_size,
)
from omnigraph_l2._cli.terminal_output import Output

__all__ = ["LoadRequest", "load"]


@frozen(kw_only=True)
class LoadRequest:
    """The arguments of a load."""

    words: tuple[str, ...]
    mode: str
    format: str | None
    branch: str
    rejects: Path | None
    max_rejects: str
    operation_hash: str | None
    message: str | None


def load(job: Job, request: LoadRequest, *, yes: bool) -> int:
    """Load files into tables."""
    files = _files(request)
    allowed = Allowed.of(request.max_rejects)
    start = time.monotonic()
    with job.open() as repo:
        snapshot = repo.snapshot(request.branch)
        for key in files:
            snapshot.entry(key)
        if request.mode == "overwrite" and not yes:
            return _refuse_overwrite(job, snapshot, files)
        with Rejects(request.rejects, allowed) as rejects:
            transaction = repo.transaction(
                request.branch, message=request.message, operation_hash=request.operation_hash
            )
            with transaction as tx:
                streams = (
                    [] if tx.is_repeat else _write_tables(job.out, tx, request, files, rejects)
                )
        report = _report(tx, streams, rejects, request, time.monotonic() - start)
    _print_report(job, report, streams, rejects)
    return 0


def _files(request: LoadRequest) -> dict[str, list[InputFile]]:
    words = group_files(request.words)
    if not words:
        message = "No files to load: expected a table and its files, such as node:Person people.csv"
        raise UsageError(message)
    if None in words:
        message = f"No table for {words[None][0]}: expected node:Person {words[None][0]}"
        raise UsageError(message)
    return {
        key: [parse_file_name(name, request.format) for name in names]
        for key, names in words.items()
        if key is not None
    }


def _refuse_overwrite(job: Job, snapshot: Snapshot, files: Mapping[str, Any]) -> int:
    rows = {key: snapshot.entry(key).row_count for key in files}
    replaced = ", ".join(f"{count:,} rows of {key}" for key, count in rows.items())
    text = f"{replaced} on {snapshot.branch}; older snapshots keep them"
    return announce(job, "replace", {"branch": snapshot.branch, "rows": rows}, text, yes=False)


def _write_tables(
    out: Output,
    tx: Transaction,
    request: LoadRequest,
    files: Mapping[str, list[InputFile]],
    rejects: Rejects,
) -> list[TableStream]:
    counts, streams = Counts(), []
    total = total_size([word for words in files.values() for word in words])
    with show_progress(out, total) as advance:
        for key, words in files.items():
            stream = TableStream(
                key, words, tx.snapshot, rejects, is_upsert=request.mode == "upsert",
                advance=advance, counts=counts,
            )  # fmt: skip
            _write(tx, request.mode, stream)
            streams.append(stream)
        rejects.check(counts.rows, at_end=True)
        advance("publishing", counts.bytes, counts.rows)
    return streams


def _write(tx: Transaction, mode: str, stream: TableStream) -> None:
    """Write the stream; an error that the stream raised is raised unchanged."""
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
    request: LoadRequest,
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
        "branch": request.branch,
        "mode": request.mode,
        "repeated": tx.is_repeat,
        "read": sum(each.read for each in streams),
        "loaded": sum(each.loaded for each in streams),
        "rejected": rejects.count,
        "rejects": str(request.rejects) if request.rejects is not None and rejects.count else None,
        "tables": tables,
        "seconds": round(seconds, 3),
    }


def _print_report(
    job: Job, report: Mapping[str, Any], streams: list[TableStream], rejects: Rejects
) -> None:
    if job.out.json:
        job.out.document(report)
        return
    if report["repeated"]:
        job.out.line(f"already done by commit {report['commit_id']}: nothing was read")
        return
    for each in streams:
        reasons = dict(rejects.by_table.get(each.key, ()))
        rejected = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
        job.out.line(
            (each.key, "bold"), f"  {each.loaded:,} of {each.read:,} rows",
            (f"  rejected: {rejected}" if rejected else "", "yellow"),
        )  # fmt: skip
    if report["rejects"] is not None:
        job.out.line(f"rejected rows are in {report['rejects']}")
    else:
        for line in rejects.first:
            job.out.warn(f"rejected: {line}")
    rate = report["read"] / max(report["seconds"], 0.001)
    commit = report["commit_id"]
    made = "no changes" if commit is None else f"commit {commit}"
    job.out.line(f"{made} in {report['seconds']:.1f} s, {rate:,.0f} rows a second")
