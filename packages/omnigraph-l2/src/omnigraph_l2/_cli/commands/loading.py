"""Bringing files into tables: ``load``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from omnigraph_l2._cli.options import Author, Common, Yes, begun, said

__all__ = ["load"]


def load(
    *words: Annotated[
        str,
        Parameter(
            name="TABLE FILE…",
            help="A table and its files, then perhaps another table and its files: node:Person "
            "people.csv more.csv edge:Knows knows.ndjson. - is standard input.",
        ),
    ],
    mode: Annotated[
        Literal["append", "upsert", "overwrite"],
        Parameter(help="Add new ids; replace rows by id; or replace all rows (wants --yes)."),
    ] = "append",
    format: Annotated[  # noqa: A002 - the word people know
        Literal["ndjson", "csv", "parquet"] | None,
        Parameter(help="Of all files; else the end of each name tells it."),
    ] = None,
    branch: Annotated[str, Parameter(alias="-b", help="Into which branch.")] = "main",
    rejects: Annotated[
        Path | None, Parameter(help="Write rows that do not fit to this new file, as NDJSON.")
    ] = None,
    max_rejects: Annotated[
        str, Parameter(help="How many rows may not fit: a number, or a share like 1%.")
    ] = "0",
    operation_hash: Annotated[
        str | None, Parameter(help="A name for what is done once: again, it does nothing.")
    ] = None,
    yes: Yes = False,
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Bring files into tables: all of it is one commit, or nothing is."""
    from omnigraph_l2._cli.work import loading

    order = loading.Order(
        words=words, mode=mode, format=format, branch=branch, rejects=rejects,
        max_rejects=max_rejects, operation_hash=operation_hash,
        message=said(author),
    )  # fmt: skip
    return loading.load(begun(common, author), order, yes=yes)
