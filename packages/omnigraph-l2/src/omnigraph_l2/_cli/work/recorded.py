"""``tables --history``: what Lance did to the tables, version by version."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph_l2 import Repository, Snapshot, VersionRecord
from omnigraph_l2._cli.options import Job, Moment
from omnigraph_l2._cli.times import shown_time

__all__ = ["history"]

_HEAD = ("version", "operation", "on", "time", "id", "properties")


def history(job: Job, moment: Moment, keys: Sequence[str], limit: int) -> int:
    """Tell the newest versions of each table; of all tables where none is named."""
    with job.open() as repo:
        snapshot = moment.of(repo)
        chosen = keys or list(snapshot.tables)
        if job.out.json:
            job.out.document(_document(repo, snapshot, chosen, limit))
            return 0
        for number, key in enumerate(chosen):
            # Asked before the heading: a table that is not there is an error without one.
            records = snapshot.history(key, limit=limit)
            if number:
                job.out.line("")
            job.out.line((key, "bold"))
            job.out.columns(_HEAD, map(_row, records))
    return 0


def _row(record: VersionRecord) -> tuple[str, ...]:
    return (
        f"{record.version}",
        record.operation or "-",
        "-" if record.read_version is None else f"{record.read_version}",
        shown_time(record.committed_at),
        record.transaction_id or "-",
        record.problem
        or ", ".join(f"{k}={v}" for k, v in sorted(record.properties.items()))
        or "-",
    )


def _document(
    repo: Repository, snapshot: Snapshot, keys: Sequence[str], limit: int
) -> dict[str, object]:
    return {
        "repository": repo.uri,
        "branch": snapshot.branch,
        "version": snapshot.version,
        "tables": [
            {
                "table_key": key,
                "history": [_plain(record) for record in snapshot.history(key, limit=limit)],
            }
            for key in keys
        ],
    }


def _plain(record: VersionRecord) -> dict[str, object]:
    return {
        "version": record.version,
        "operation": record.operation,
        "read_version": record.read_version,
        "committed_at": record.committed_at,
        "transaction_id": record.transaction_id,
        "properties": dict(record.properties),
        "problem": record.problem,
    }
