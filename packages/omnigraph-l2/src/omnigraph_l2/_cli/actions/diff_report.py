"""``diff``: the differences between two revisions, as a summary or row by row."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

from attrs import frozen

from omnigraph_l2 import Diff, Snapshot, TableDiff
from omnigraph_l2._cli.common_options import Job, check_limit, parse_reference
from omnigraph_l2._cli.exit_status import DIFFERENT, DONE
from omnigraph_l2._cli.formats.arrow_to_json import json_rows
from omnigraph_l2._cli.json_document import plain
from omnigraph_l2._cli.terminal_output import style_line

__all__ = ["DiffRequest", "diff"]

_COUNTS = (("inserted", "+", "green"), ("updated", "~", "yellow"), ("deleted", "-", "red"))


@frozen(kw_only=True)
class DiffRequest:
    """The arguments of a comparison."""

    before: str
    after: str
    tables: tuple[str, ...]
    rows: bool
    limit: int | None


def diff(job: Job, request: DiffRequest, *, exit_code: bool) -> int:
    """Compare two revisions."""
    check_limit(request.limit)
    with job.open() as repo:
        found = repo.diff(
            parse_reference(request.before) if request.before else None,
            parse_reference(request.after),
            request.tables or None,
        )
        with job.out.use_pager():
            if job.out.json:
                _print_json(job, found, request)
            else:
                _print_diff(job, found, request)
        differs = not found.is_empty
    return DIFFERENT if exit_code and differs else DONE


def _print_diff(job: Job, found: Diff, request: DiffRequest) -> None:
    if found.is_empty:
        job.out.line("no differences")
    for each in found.tables.values():
        _print_summary(job, each)
    for key in found.tables if request.rows else ():
        job.out.line("")
        job.out.line((key, "bold"))
        for row in _rows(found, key, request.limit):
            _print_row(job, row)


def _print_json(job: Job, found: Diff, request: DiffRequest) -> None:
    if request.rows:
        for key in found.tables:
            for row in _rows(found, key, request.limit):
                job.out.document({"table_key": key, **row})
        return
    job.out.document(
        {
            "before": _snapshot_document(found.before),
            "after": _snapshot_document(found.after),
            "is_empty": found.is_empty,
            "tables": [plain(each) for each in found.tables.values()],
        }
    )


def _print_summary(job: Job, each: TableDiff) -> None:
    parts: list[Any] = [style_line((each.table_key, "bold"), f"  {each.change.value}")]
    for name, sign, style in _COUNTS:
        count = getattr(each, name)
        if count:
            parts += ["  ", style_line((f"{sign}{count:,} {name}", style))]
    parts += [style_line("  ", (f"+property {name}", "green")) for name in each.added_properties]
    parts += [style_line("  ", (f"-property {name}", "red")) for name in each.removed_properties]
    job.out.line(*parts)


def _rows(found: Diff, key: str, limit: int | None) -> Any:
    rows = (row for batch in found.rows(key) for row in json_rows(batch))
    return rows if limit is None else islice(rows, min(limit, sys.maxsize))


def _print_row(job: Job, row: dict[str, Any]) -> None:
    before, after = row["before"], row["after"]
    if before is None or after is None:
        sign, style = ("+", "green") if before is None else ("-", "red")
        values = after if before is None else before
        values_text = ", ".join(
            f"{name}={value!r}" for name, value in values.items() if name != "id"
        )
        job.out.line((f"{sign} {row['id']}  {values_text}", style))
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


def _snapshot_document(snapshot: Snapshot) -> dict[str, Any]:
    commit = snapshot.commit
    return {
        "branch": snapshot.branch,
        "version": snapshot.version,
        "commit": None if commit is None else commit.graph_commit_id,
    }
