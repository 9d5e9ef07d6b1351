"""What was, and what changed: ``log``, ``diff``, ``revert``."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from omnigraph_l2._cli.options import Author, Common, begun, said

__all__ = ["diff", "log", "revert"]

Strategy = Annotated[
    Literal["error", "ours", "theirs"],
    Parameter(help="What counts where both sides changed the same: ours is the branch."),
]


def log(
    branch: str = "main",
    /,
    *,
    graph: Annotated[
        bool, Parameter(name=["--graph", "-g"], negative="", help="Draw all branches and merges.")
    ] = False,
    limit: Annotated[
        int | None, Parameter(name=["--limit", "-n"], help="How many commits at the most.")
    ] = None,
    common: Common | None = None,
) -> int:
    """List commits, newest first. With --json: one line for each.

    Parameters
    ----------
    branch
        Whose commits. With --graph: those of all branches, and this one first.
    """
    from omnigraph_l2._cli.work import commits

    return commits.log(begun(common), branch, graph=graph, limit=limit)


def diff(
    before: str,
    after: str = "main",
    /,
    *,
    table: Annotated[
        tuple[str, ...],
        Parameter(name=["--table", "-t"], negative="", help="Only this table; may be repeated."),
    ] = (),
    rows: Annotated[bool, Parameter(negative="", help="Show the rows that differ.")] = False,
    limit: Annotated[
        int | None, Parameter(name=["--limit", "-n"], help="How many rows of each table.")
    ] = None,
    exit_code: Annotated[
        bool, Parameter(negative="", help="End with 3 where they differ.")
    ] = False,
    common: Common | None = None,
) -> int:
    """Tell what differs between two moments. With --rows --json: one line for each row.

    Parameters
    ----------
    before
        A branch, a tag, a commit, or a version of main. "" is the very beginning.
    after
        Another one.
    """
    from omnigraph_l2._cli.work import differing

    asked = differing.Asked(before=before, after=after, tables=table, rows=rows, limit=limit)
    return differing.diff(begun(common), asked, exit_code=exit_code)


def revert(
    commit: str,
    /,
    *,
    branch: Annotated[str, Parameter(alias="-b", help="On which branch.")] = "main",
    strategy: Strategy = "error",
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Take the changes of a commit back, with a new commit.

    Parameters
    ----------
    commit
        Its id.
    """
    from omnigraph_l2._cli.work import merging

    job = begun(common, author)
    return merging.revert(job, commit, branch, strategy, message=said(author))
