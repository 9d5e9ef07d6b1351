"""``merge`` and ``revert``.

Invariant: every conflict is listed, and conflicts end with their own exit status.
"""

from __future__ import annotations

from typing import Any

from omnigraph_l2 import GraphCommit, MergeResult
from omnigraph_l2._cli.common_options import Job
from omnigraph_l2._cli.exit_status import CONFLICT
from omnigraph_l2._cli.json_document import plain
from omnigraph_l2.errors import MergeConflict, MergeConflicts

__all__ = ["merge", "revert"]


def merge(
    job: Job, source: str, into: str, strategy: Any, *, dry_run: bool, message: str | None
) -> int:
    """Merge, or list the conflicts."""
    with job.open() as repo:
        try:
            result = repo.branches.merge(
                source, into, strategy=strategy, dry_run=dry_run, message=message
            )
        except MergeConflicts as conflicts:
            return _print_conflicts(job, conflicts, source)
    if job.out.json:
        job.out.document({"dry_run": dry_run, **_result_document(result)})
    else:
        job.out.text(f"would be: {result}" if dry_run else result)
        for each in result.resolved:
            job.out.text(f"  resolved: {each}")
    return 0


def revert(job: Job, commit: str, branch: str, strategy: Any, *, message: str | None) -> int:
    """Revert a commit, or list the conflicts."""
    with job.open() as repo:
        try:
            made = repo.revert(commit, branch, strategy=strategy, message=message)
        except MergeConflicts as conflicts:
            return _print_conflicts(job, conflicts, commit)
    if job.out.json:
        job.out.document({"commit": made})
    else:
        job.out.line(_revert_message(commit, made))
    return 0


def _print_conflicts(job: Job, found: MergeConflicts, source: str) -> int:
    """Print the conflicts: they are the result of the command."""
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
        with job.out.use_pager():
            count = len(found.conflicts)
            job.out.line((f"{count:,} conflict{'' if count == 1 else 's'}", "bold red"))
            for each in found.conflicts:
                _print_conflict(job, each)
    job.out.warn(
        f"{found.kind}: {found.source} conflicts with {found.into}. Nothing was changed. "
        "Use --strategy ours or theirs to choose a side, or change one of the sides first."
    )
    return CONFLICT


def _print_conflict(job: Job, each: MergeConflict) -> None:
    job.out.line((f"{each.kind.value}  ", "red"), str(each))
    for side in ("base", "ours", "theirs"):
        row = getattr(each, side)
        values = "-" if row is None else ", ".join(f"{name}={row[name]!r}" for name in row)
        job.out.line(f"  {side:<7} {values}")


def _result_document(result: MergeResult) -> dict[str, Any]:
    return {**plain(result), "kind": result.kind.value}


def _revert_message(commit: str, made: GraphCommit | None) -> str:
    if made is None:
        return f"commit {commit} has no changes left to revert"
    return f"commit {made.graph_commit_id} reverts {commit}"
