"""History and changes: ``log``, ``diff``, ``revert``."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from omnigraph_l2._cli.common_options import Author, Common, message_of, prepare_job

__all__ = ["diff", "log", "revert"]

Strategy = Annotated[
    Literal["error", "ours", "theirs"],
    Parameter(
        help="How to resolve conflicts: report them, or take the target branch (ours) or the "
        "source (theirs)."
    ),
]


def log(
    branch: str = "main",
    /,
    *,
    graph: Annotated[
        bool, Parameter(name=["--graph", "-g"], negative="", help="Draw all branches and merges.")
    ] = False,
    limit: Annotated[
        int | None, Parameter(name=["--limit", "-n"], help="At most this many commits.")
    ] = None,
    common: Common | None = None,
) -> int:
    """List commits, newest first. With --json, one line per commit.

    Parameters
    ----------
    branch
        Branch. With --graph, the branch that is drawn first.
    """
    from omnigraph_l2._cli.actions import log_graph

    return log_graph.log(prepare_job(common), branch, graph=graph, limit=limit)


def diff(
    before: str,
    after: str = "main",
    /,
    *,
    table: Annotated[
        tuple[str, ...],
        Parameter(name=["--table", "-t"], negative="", help="Only this table; can be repeated."),
    ] = (),
    rows: Annotated[bool, Parameter(negative="", help="Show the changed rows.")] = False,
    limit: Annotated[
        int | None, Parameter(name=["--limit", "-n"], help="At most this many rows per table.")
    ] = None,
    exit_code: Annotated[
        bool, Parameter(negative="", help="Exit with 3 if there are differences.")
    ] = False,
    common: Common | None = None,
) -> int:
    """Compare two revisions. With --rows --json, one line per row.

    Parameters
    ----------
    before
        A branch, a tag, a commit, or a version of main. "" is the empty graph.
    after
        The other revision.
    """
    from omnigraph_l2._cli.actions import diff_report

    request = diff_report.DiffRequest(
        before=before, after=after, tables=table, rows=rows, limit=limit
    )
    return diff_report.diff(prepare_job(common), request, exit_code=exit_code)


def revert(
    commit: str,
    /,
    *,
    branch: Annotated[str, Parameter(alias="-b", help="Branch.")] = "main",
    strategy: Strategy = "error",
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Revert the changes of a commit with a new commit.

    Parameters
    ----------
    commit
        Commit id.
    """
    from omnigraph_l2._cli.actions import merge_and_revert

    job = prepare_job(common, author)
    return merge_and_revert.revert(job, commit, branch, strategy, message=message_of(author))
