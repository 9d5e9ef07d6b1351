"""Create a repository, load it and change its types: ``init``, ``load``, ``evolve``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from omnigraph_l2._cli.common_options import Author, Common, Yes, message_of, prepare_job

__all__ = ["evolve", "init", "load"]


def init(
    location: str | None = None,
    /,
    *,
    schema: Annotated[
        Path | None, Parameter(name=["--schema", "-s"], help="Schema file in TOML.")
    ] = None,
    from_: Annotated[
        tuple[str, ...],
        Parameter(
            name="--from",
            consume_multiple=True,
            negative="",
            help="Infer the types from these files: [TABLE] FILE… as for load.",
        ),
    ] = (),
    dry_run: Annotated[bool, Parameter(negative="", help="Only show the types.")] = False,
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Create a repository.

    Parameters
    ----------
    location
        A new or empty folder, or s3://…; by default --repo.
    """
    from omnigraph_l2._cli.actions import init_and_evolve

    job = prepare_job(common, author, repo=location)
    return init_and_evolve.init(job, schema, from_, dry_run=dry_run)


def evolve(
    schema: Path,
    /,
    *,
    branch: Annotated[str, Parameter(alias="-b", help="Branch.")] = "main",
    yes: Yes = False,
    dry_run: Annotated[bool, Parameter(negative="", help="Only show the plan.")] = False,
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Change the schema of a branch to that of a file, as one commit.

    Parameters
    ----------
    schema
        Schema file in TOML; see omnigraph schema --toml.
    """
    from omnigraph_l2._cli.actions import init_and_evolve

    job = prepare_job(common, author)
    message = message_of(author)
    return init_and_evolve.evolve(job, schema, branch, yes=yes, dry_run=dry_run, message=message)


def load(
    *words: Annotated[
        str,
        Parameter(
            name="TABLE FILE…",
            help="A table and its files; more tables with their files may follow: node:Person "
            "people.csv more.csv edge:Knows knows.ndjson. - is standard input.",
        ),
    ],
    mode: Annotated[
        Literal["append", "upsert", "overwrite"],
        Parameter(
            help="Add rows with new ids, replace rows by id, or replace all rows (needs --yes)."
        ),
    ] = "append",
    format: Annotated[  # noqa: A002 - the usual name
        Literal["ndjson", "csv", "parquet"] | None,
        Parameter(help="Format of all files; by default from each file name."),
    ] = None,
    branch: Annotated[str, Parameter(alias="-b", help="Branch.")] = "main",
    rejects: Annotated[
        Path | None, Parameter(help="Write rejected rows to this new file, as NDJSON.")
    ] = None,
    max_rejects: Annotated[
        str, Parameter(help="Number or share of rows that may be rejected, such as 10 or 1%.")
    ] = "0",
    operation_hash: Annotated[
        str | None, Parameter(help="Idempotency key: a second load with the same key does nothing.")
    ] = None,
    yes: Yes = False,
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Load files into tables as one commit. On failure nothing is published."""
    from omnigraph_l2._cli.actions import file_load

    request = file_load.LoadRequest(
        words=words, mode=mode, format=format, branch=branch, rejects=rejects,
        max_rejects=max_rejects, operation_hash=operation_hash,
        message=message_of(author),
    )  # fmt: skip
    return file_load.load(prepare_job(common, author), request, yes=yes)
