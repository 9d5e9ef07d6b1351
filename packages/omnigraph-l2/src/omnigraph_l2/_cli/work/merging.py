"""``merge`` and ``revert``: bringing changes in, and taking them back.

Always: conflicts are told one by one, and end with the exit status of conflicts.
"""

from __future__ import annotations

from typing import Any

from omnigraph_l2 import GraphCommit, MergeResult
from omnigraph_l2._cli.options import Job
from omnigraph_l2._cli.plain import plain
from omnigraph_l2._cli.status import CONFLICT
from omnigraph_l2.errors import MergeConflict, MergeConflicts

__all__ = ["merge", "revert"]


def merge(
    job: Job, source: str, into: str, strategy: Any, *, dry_run: bool, message: str | None
) -> int:
    """Merge, or tell what stands against it."""
    with job.open() as repo:
        try:
            result = repo.branches.merge(
                source, into, strategy=strategy, dry_run=dry_run, message=message
            )
        except MergeConflicts as conflicts:
            return _conflicts(job, conflicts, source)
    if job.out.json:
        job.out.document({"dry_run": dry_run, **_result(result)})
    else:
        job.out.text(f"would be: {result}" if dry_run else result)
        for each in result.resolved:
            job.out.text(f"  decided: {each}")
    return 0


def revert(job: Job, commit: str, branch: str, strategy: Any, *, message: str | None) -> int:
    """Take a commit back, or tell what stands against it."""
    with job.open() as repo:
        try:
            made = repo.revert(commit, branch, strategy=strategy, message=message)
        except MergeConflicts as conflicts:
            return _conflicts(job, conflicts, commit)
    if job.out.json:
        job.out.document({"commit": made})
    else:
        job.out.line(_reverted(commit, made))
    return 0


def _conflicts(job: Job, found: MergeConflicts, source: str) -> int:
    """Tell the conflicts; they are what was asked for, so they are a result."""
    if job.out.json:
        job.out.document(
            {
                "kind": "conflicts",
                "source": source,
                "into": found.into,
                "conflicts": [plain(each) for each in found.conflicts],
            }
        )
    else:
        with job.out.paged():
            count = len(found.conflicts)
            job.out.line((f"{count:,} conflict{'' if count == 1 else 's'}", "bold red"))
            for each in found.conflicts:
                _conflict(job, each)
    job.out.warn(
        f"{found.kind}: {found.source} cannot be brought into {found.into}. Nothing was changed. "
        "Say with --strategy ours or theirs which side counts, or change one of the sides first."
    )
    return CONFLICT


def _conflict(job: Job, each: MergeConflict) -> None:
    job.out.line((f"{each.kind.value}  ", "red"), str(each))
    for side in ("base", "ours", "theirs"):
        row = getattr(each, side)
        told = "-" if row is None else ", ".join(f"{name}={row[name]!r}" for name in row)
        job.out.line(f"  {side:<7} {told}")


def _result(result: MergeResult) -> dict[str, Any]:
    return {**plain(result), "kind": result.kind.value}


def _reverted(commit: str, made: GraphCommit | None) -> str:
    if made is None:
        return f"nothing of {commit} is left to be taken back"
    return f"commit {made.graph_commit_id} takes {commit} back"
