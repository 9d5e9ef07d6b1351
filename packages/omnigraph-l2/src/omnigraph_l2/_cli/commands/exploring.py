"""Looking at a graph in a browser: ``explore``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from omnigraph_l2._cli.options import Common, begun

__all__ = ["explore"]


def explore(
    repo: str | None = None,
    /,
    *,
    port: Annotated[
        int, Parameter(alias="-p", help="The port on this machine; 0 takes any that is free.")
    ] = 0,
    out: Annotated[
        Path | None,
        Parameter(
            name=["--out", "-o"], help="Write one HTML file, which needs no server, instead."
        ),
    ] = None,
    commits: Annotated[int, Parameter(help="With --out: how many commits, 500 at the most.")] = 100,
    rows: Annotated[int, Parameter(help="With --out: how many rows of each table.")] = 50,
    open: Annotated[  # noqa: A002 - the word people know
        bool | None, Parameter(help="Open it in the browser: on a terminal, if not said.")
    ] = None,
    common: Common | None = None,
) -> int:
    """Show history, tables, changes, rows and types as a page in the browser. Read only.

    It is served to this machine only, until Ctrl-C.

    Parameters
    ----------
    repo
        The repository: a folder, or s3://…; else --repo.
    """
    from omnigraph_l2._cli.work import exploring

    job = begun(common, repo=repo)
    if out is not None:
        return exploring.write(job, out, commits, rows, opened=bool(open))
    return exploring.serve(job, port, opened=job.out.is_terminal if open is None else open)
