"""``runs``: list, show and abort runs."""

from __future__ import annotations

from typing import Any

from omnigraph_l2 import Run
from omnigraph_l2._cli.common_options import Job, announce
from omnigraph_l2._cli.human_units import format_time

__all__ = ["abort", "list_runs", "show"]


def list_runs(job: Job, status: str | None) -> int:
    """List the runs, oldest first."""
    with job.open() as repo:
        found = [_run_document(each) for each in repo.runs.list(status)]
    if job.out.json:
        job.out.document({"runs": found})
        return 0
    rows = [
        (each["run_id"], each["status"], each["target_branch"], each["actor"] or "-",
         format_time(each["created_at"]), each["operation_hash"] or "-")
        for each in found
    ]  # fmt: skip
    job.out.columns(("run", "status", "into", "by", "begun", "operation"), rows)
    return 0


def show(job: Job, run_id: str) -> int:
    """Show a run, and the reason if it failed."""
    with job.open() as repo:
        run = repo.runs.get(run_id)
        found = {**_run_document(run), "reason": run.reason}
    if job.out.json:
        job.out.document(found)
        return 0
    for name, value in found.items():
        shown = format_time(value) if name.endswith("_at") else value
        job.out.line((f"{name:<20}  ", "bold"), "-" if shown is None else str(shown))
    return 0


def abort(job: Job, run_id: str, *, yes: bool) -> int:
    """Report the changes of a run, then abort it."""
    with job.open() as repo:
        run = repo.runs.get(run_id)
        found = _run_document(run)
        if found["status"] == "running":
            before, after = repo.snapshot(commit=run.base_commit_id), run.snapshot()
            found["changes"] = repo.diff(before, after).tables
        changes = found.get("changes") or {}
        text = f"run {run_id} into {run.target_branch}, which is {run.status.value}"
        text += "".join(f"; {each}" for each in changes.values())
        status = announce(job, "abort", found, text, yes=yes)
        if yes:
            run.abort()
    return status


def _run_document(run: Run) -> dict[str, Any]:
    names = (
        "run_id", "status", "target_branch", "branch", "base_commit_id", "published_commit_id",
        "operation_hash", "actor", "created_at", "updated_at",
    )  # fmt: skip
    found = {name: getattr(run, name) for name in names}
    return {**found, "status": run.status.value}
