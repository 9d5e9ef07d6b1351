"""``runs``: work that becomes one commit, and can be given up."""

from __future__ import annotations

from typing import Any

from omnigraph_l2 import Run
from omnigraph_l2._cli.options import Job
from omnigraph_l2._cli.times import shown_time
from omnigraph_l2._cli.work.asking import decided

__all__ = ["abort", "list_runs", "show"]


def list_runs(job: Job, status: str | None) -> int:
    """List the runs, oldest first."""
    with job.open() as repo:
        found = [_told(each) for each in repo.runs.list(status)]
    if job.out.json:
        job.out.document({"runs": found})
        return 0
    rows = [
        (each["run_id"], each["status"], each["target_branch"], each["actor"] or "-",
         shown_time(each["created_at"]), each["operation_hash"] or "-")
        for each in found
    ]  # fmt: skip
    job.out.columns(("run", "status", "into", "by", "begun", "operation"), rows)
    return 0


def show(job: Job, run_id: str) -> int:
    """Show a run, and why it failed."""
    with job.open() as repo:
        run = repo.runs.get(run_id)
        found = {**_told(run), "reason": run.reason}
    if job.out.json:
        job.out.document(found)
        return 0
    for name, value in found.items():
        shown = shown_time(value) if name.endswith("_at") else value
        job.out.line((f"{name:<20}  ", "bold"), "-" if shown is None else str(shown))
    return 0


def abort(job: Job, run_id: str, *, yes: bool) -> int:
    """Give a run up, after having told what it did."""
    with job.open() as repo:
        run = repo.runs.get(run_id)
        found = _told(run)
        if found["status"] == "running":
            before, after = repo.snapshot(commit=run.base_commit_id), run.snapshot()
            found["changes"] = repo.diff(before, after).tables
        changes = found.get("changes") or {}
        text = f"run {run_id} into {run.target_branch}, which is {run.status.value}"
        text += "".join(f"; {each}" for each in changes.values())
        status = decided(job, "abort", found, text, yes=yes)
        if yes:
            run.abort()
    return status


def _told(run: Run) -> dict[str, Any]:
    names = (
        "run_id", "status", "target_branch", "branch", "base_commit_id", "published_commit_id",
        "operation_hash", "actor", "created_at", "updated_at",
    )  # fmt: skip
    found = {name: getattr(run, name) for name in names}
    return {**found, "status": run.status.value}
