"""Read a graph: ``info``, ``tables``, ``cat``, ``schema``, ``explore``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from omnigraph_l2._cli.common_options import Common, Revision, prepare_job

__all__ = ["cat", "explore", "info", "schema", "tables"]


def info(*, common: Common | None = None) -> int:
    """Show the location of the repository, its content, and the settings."""
    from omnigraph_l2._cli.actions import inspection

    return inspection.info(prepare_job(common))


def tables(
    *keys: str,
    history: Annotated[
        bool, Parameter(negative="", help="Show their Lance versions, newest first.")
    ] = False,
    limit: Annotated[
        int,
        Parameter(
            name=["--limit", "-n"], help="With --history: at most this many versions per table."
        ),
    ] = 20,
    revision: Revision | None = None,
    common: Common | None = None,
) -> int:
    """List the tables with their rows, files, bytes and versions.

    Parameters
    ----------
    keys
        Only these tables, such as node:Person.
    """
    if history:
        from omnigraph_l2._cli.actions import inspection

        return inspection.history(prepare_job(common), revision or Revision(), keys, limit)
    from omnigraph_l2._cli.actions import inspection

    return inspection.tables(prepare_job(common), revision or Revision(), keys)


def cat(
    table: str,
    /,
    *,
    filter: Annotated[  # noqa: A002 - the usual name
        str | None,
        Parameter(name=["--filter", "-f"], help='Only rows that match, such as "age > 30".'),
    ] = None,
    columns: Annotated[
        str | None,
        Parameter(name=["--columns", "-c"], help="Only these columns, such as id,name,age."),
    ] = None,
    limit: Annotated[
        int | None, Parameter(name=["--limit", "-n"], help="At most this many rows.")
    ] = None,
    format: Annotated[  # noqa: A002
        Literal["table", "ndjson", "csv", "parquet"] | None,
        Parameter(
            help="By default from the file name of --out; otherwise a table on a terminal, and "
            "NDJSON elsewhere."
        ),
    ] = None,
    out: Annotated[
        Path | None, Parameter(name=["--out", "-o"], help="Write to this new file.")
    ] = None,
    revision: Revision | None = None,
    common: Common | None = None,
) -> int:
    """Show rows of a table.

    Parameters
    ----------
    table
        Such as node:Person.
    """
    from omnigraph_l2._cli.actions import row_export

    query = row_export.RowQuery(table=table, filter=filter, columns=columns, limit=limit)
    return row_export.cat(prepare_job(common), revision or Revision(), query, format, out)


def schema(
    *,
    toml: Annotated[
        bool, Parameter(negative="", help="Write the schema file that init and evolve read.")
    ] = False,
    revision: Revision | None = None,
    common: Common | None = None,
) -> int:
    """Show the types: properties, edge endpoints, constraints, indexes."""
    from omnigraph_l2._cli.actions import inspection

    return inspection.schema(prepare_job(common), revision or Revision(), toml=toml)


def explore(
    repo: str | None = None,
    /,
    *,
    port: Annotated[
        int, Parameter(alias="-p", help="Port on this machine; 0 for any free port.")
    ] = 0,
    out: Annotated[
        Path | None,
        Parameter(name=["--out", "-o"], help="Write one HTML file instead, which needs no server."),
    ] = None,
    commits: Annotated[int, Parameter(help="With --out: number of commits, at most 500.")] = 100,
    rows: Annotated[int, Parameter(help="With --out: number of rows per table.")] = 50,
    open: Annotated[  # noqa: A002 - the usual name
        bool | None, Parameter(help="Open the browser; by default on a terminal only.")
    ] = None,
    common: Common | None = None,
) -> int:
    """Show history, tables, changes, rows and types as a read-only page in the browser.

    The page is served to this machine only, until Ctrl-C.

    Parameters
    ----------
    repo
        Repository: a folder or s3://…; by default --repo.
    """
    from omnigraph_l2._cli.actions import explore_page

    job = prepare_job(common, repo=repo)
    if out is not None:
        return explore_page.write(job, out, commits, rows, opened=bool(open))
    return explore_page.serve(job, port, opened=job.out.is_terminal if open is None else open)
