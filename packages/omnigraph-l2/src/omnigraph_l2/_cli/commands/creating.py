"""Making a repository, and changing its types: ``init``, ``evolve``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from omnigraph_l2._cli.options import Author, Common, Yes, begun, said

__all__ = ["evolve", "init"]


def init(
    place: str | None = None,
    /,
    *,
    schema: Annotated[
        Path | None, Parameter(name=["--schema", "-s"], help="A file of types, in TOML.")
    ] = None,
    from_: Annotated[
        tuple[str, ...],
        Parameter(
            name="--from",
            consume_multiple=True,
            negative="",
            help="Infer the types from these files: [TABLE] FILE… as in load.",
        ),
    ] = (),
    dry_run: Annotated[
        bool, Parameter(negative="", help="Make nothing; show the types that there would be.")
    ] = False,
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Make a repository.

    Parameters
    ----------
    place
        Where: a new or empty folder, or s3://…; else --repo.
    """
    from omnigraph_l2._cli.work import making

    job = begun(common, author, repo=place)
    return making.init(job, schema, from_, dry_run=dry_run)


def evolve(
    schema: Path,
    /,
    *,
    branch: Annotated[str, Parameter(alias="-b", help="On which branch.")] = "main",
    yes: Yes = False,
    dry_run: Annotated[bool, Parameter(negative="", help="Only show the plan.")] = False,
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Make a schema file that of a branch: types and properties come and go, as one commit.

    Parameters
    ----------
    schema
        A file of types, in TOML: see omnigraph schema --toml.
    """
    from omnigraph_l2._cli.work import making

    job = begun(common, author)
    message = said(author)
    return making.evolve(job, schema, branch, yes=yes, dry_run=dry_run, message=message)
