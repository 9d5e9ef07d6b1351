"""Looking at a graph: ``info``, ``tables``, ``cat``, ``schema``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from omnigraph_l2._cli.options import Common, Moment, begun

__all__ = ["cat", "info", "schema", "tables"]


def info(*, common: Common | None = None) -> int:
    """Tell where the repository is, what is in it, and which settings hold."""
    from omnigraph_l2._cli.work import looking

    return looking.info(begun(common))


def tables(
    *keys: str,
    history: Annotated[
        bool, Parameter(negative="", help="What Lance did to them, the newest version first.")
    ] = False,
    limit: Annotated[
        int, Parameter(name=["--limit", "-n"], help="How many versions of each, with --history.")
    ] = 20,
    moment: Moment | None = None,
    common: Common | None = None,
) -> int:
    """List the tables: rows, files, bytes, versions.

    Parameters
    ----------
    keys
        Only these, as in node:Person.
    """
    if history:
        from omnigraph_l2._cli.work import recorded

        return recorded.history(begun(common), moment or Moment(), keys, limit)
    from omnigraph_l2._cli.work import looking

    return looking.tables(begun(common), moment or Moment(), keys)


def cat(
    table: str,
    /,
    *,
    filter: Annotated[  # noqa: A002 - the word people know
        str | None, Parameter(name=["--filter", "-f"], help='Which rows, as in "age > 30".')
    ] = None,
    columns: Annotated[
        str | None, Parameter(name=["--columns", "-c"], help="Which columns: id,name,age.")
    ] = None,
    limit: Annotated[
        int | None, Parameter(name=["--limit", "-n"], help="How many rows at the most.")
    ] = None,
    format: Annotated[  # noqa: A002
        Literal["table", "ndjson", "csv", "parquet"] | None,
        Parameter(
            help="How: a table on a terminal and NDJSON elsewhere, if not said; the end of the "
            "name of --out tells it, too."
        ),
    ] = None,
    out: Annotated[
        Path | None, Parameter(name=["--out", "-o"], help="Write to this new file.")
    ] = None,
    moment: Moment | None = None,
    common: Common | None = None,
) -> int:
    """Show rows of a table.

    Parameters
    ----------
    table
        As in node:Person.
    """
    from omnigraph_l2._cli.work import showing

    wanted = showing.Wanted(table=table, filter=filter, columns=columns, limit=limit)
    return showing.cat(begun(common), moment or Moment(), wanted, format, out)


def schema(
    *,
    toml: Annotated[
        bool, Parameter(negative="", help="As a file that init and evolve take.")
    ] = False,
    moment: Moment | None = None,
    common: Common | None = None,
) -> int:
    """Show the types: properties, ends of edges, constraints, indexes."""
    from omnigraph_l2._cli.work import looking

    return looking.schema(begun(common), moment or Moment(), toml=toml)
