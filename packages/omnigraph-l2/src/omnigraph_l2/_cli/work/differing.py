"""``diff``: what differs between two moments, as a summary or row by row."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

from attrs import frozen

from omnigraph_l2 import Diff, Snapshot, TableDiff
from omnigraph_l2._cli.options import Job, check_limit
from omnigraph_l2._cli.output import styled
from omnigraph_l2._cli.plain import plain
from omnigraph_l2._cli.status import DIFFERENT, DONE
from omnigraph_l2._cli.work.values import json_rows

__all__ = ["Asked", "diff"]

_COUNTS = (("inserted", "+", "green"), ("updated", "~", "yellow"), ("deleted", "-", "red"))


@frozen(kw_only=True)
class Asked:
    """What is to be compared."""

    before: str
    after: str
    tables: tuple[str, ...]
    rows: bool
    limit: int | None


def diff(job: Job, asked: Asked, *, exit_code: bool) -> int:
    """Compare two moments."""
    check_limit(asked.limit)
    with job.open() as repo:
        found = repo.diff(
            _moment(asked.before) if asked.before else None,
            _moment(asked.after),
            asked.tables or None,
        )
        with job.out.paged():
            if job.out.json:
                _told_as_json(job, found, asked)
            else:
                _told(job, found, asked)
        differs = not found.is_empty
    return DIFFERENT if exit_code and differs else DONE


def _moment(text: str) -> str | int:
    """Take a number as a version of main."""
    return int(text) if text.isdecimal() else text


def _told(job: Job, found: Diff, asked: Asked) -> None:
    if found.is_empty:
        job.out.line("nothing differs")
    for each in found.tables.values():
        _summary(job, each)
    for key in found.tables if asked.rows else ():
        job.out.line("")
        job.out.line((key, "bold"))
        for row in _rows(found, key, asked.limit):
            _row(job, row)


def _told_as_json(job: Job, found: Diff, asked: Asked) -> None:
    if asked.rows:
        for key in found.tables:
            for row in _rows(found, key, asked.limit):
                job.out.document({"table_key": key, **row})
        return
    job.out.document(
        {
            "before": _named(found.before),
            "after": _named(found.after),
            "is_empty": found.is_empty,
            "tables": [plain(each) for each in found.tables.values()],
        }
    )


def _summary(job: Job, each: TableDiff) -> None:
    parts: list[Any] = [styled((each.table_key, "bold"), f"  {each.change.value}")]
    for name, sign, style in _COUNTS:
        count = getattr(each, name)
        if count:
            parts += ["  ", styled((f"{sign}{count:,} {name}", style))]
    parts += [styled("  ", (f"+property {name}", "green")) for name in each.added_properties]
    parts += [styled("  ", (f"-property {name}", "red")) for name in each.removed_properties]
    job.out.line(*parts)


def _rows(found: Diff, key: str, limit: int | None) -> Any:
    rows = (row for batch in found.rows(key) for row in json_rows(batch))
    return rows if limit is None else islice(rows, min(limit, sys.maxsize))


def _row(job: Job, row: dict[str, Any]) -> None:
    before, after = row["before"], row["after"]
    if before is None or after is None:
        sign, style = ("+", "green") if before is None else ("-", "red")
        values = after if before is None else before
        told = ", ".join(f"{name}={value!r}" for name, value in values.items() if name != "id")
        job.out.line((f"{sign} {row['id']}  {told}", style))
        return
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    job.out.line((f"~ {row['id']}", "yellow"))
    for name in names:
        job.out.line(
            f"    {name}: ",
            (repr(before.get(name)), "red"),
            " → ",
            (repr(after.get(name)), "green"),
        )


def _named(snapshot: Snapshot) -> dict[str, Any]:
    commit = snapshot.commit
    return {
        "branch": snapshot.branch,
        "version": snapshot.version,
        "commit": None if commit is None else commit.graph_commit_id,
    }
