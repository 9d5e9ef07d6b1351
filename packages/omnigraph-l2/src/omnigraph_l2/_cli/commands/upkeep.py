"""Keeping a repository in order: ``optimize``, ``cleanup``, ``verify``, ``repair``, ``migrate``."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from omnigraph_l2._cli.options import Author, Common, Yes, begun, said

__all__ = ["cleanup", "migrate", "optimize", "repair", "verify"]

_Tables = Annotated[
    tuple[str, ...],
    Parameter(name=["--table", "-t"], negative="", help="Only this table; may be repeated."),
]
_DryRun = Annotated[bool, Parameter(negative="", help="Only tell; that is no failure then.")]


def optimize(
    *,
    table: _Tables = (),
    branch: Annotated[str, Parameter(alias="-b", help="On which branch.")] = "main",
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Merge small fragments, drop deleted rows from files, build and extend wanted indexes."""
    from omnigraph_l2._cli.work import keeping

    job = begun(common, author)
    return keeping.optimize(job, table, branch, message=said(author))


def cleanup(
    *,
    older_than: Annotated[
        str, Parameter(help="Keep what was current in this time: 7d, 12h, 0s.")
    ] = "7d",
    keep_versions: Annotated[
        int | None, Parameter(help="Keep so many newest commits of each branch, too.")
    ] = None,
    yes: Yes = False,
    dry_run: _DryRun = False,
    common: Common | None = None,
) -> int:
    """Remove what nobody needs any more. No commit goes from the log."""
    from omnigraph_l2._cli.work import keeping

    job = begun(common)
    return keeping.cleanup(job, older_than, keep_versions, yes=yes, dry_run=dry_run)


def verify(
    *,
    table: _Tables = (),
    dangling_edges: Annotated[
        bool, Parameter(negative="", help="Look up the ends of all edges.")
    ] = False,
    duplicates: Annotated[
        bool, Parameter(name="--no-duplicates", negative="", help="Do not read ids.")
    ] = False,
    values: Annotated[bool, Parameter(negative="", help="Read every value.")] = False,
    common: Common | None = None,
) -> int:
    """Check all that should hold. Ends with 5 where there are errors."""
    from omnigraph_l2._cli.work import keeping

    job = begun(common)
    return keeping.verify(
        job, table, dangling_edges=dangling_edges, duplicates=not duplicates, values=values
    )


def repair(
    *,
    align: Annotated[
        bool,
        Parameter(negative="", help="Make what is published the head of each table, too."),
    ] = False,
    yes: Yes = False,
    dry_run: _DryRun = False,
    common: Common | None = None,
) -> int:
    """Mend what can be mended without losing what was published."""
    from omnigraph_l2._cli.work import keeping

    return keeping.repair(begun(common), align=align, yes=yes, dry_run=dry_run)


def migrate(*, yes: Yes = False, dry_run: _DryRun = False, common: Common | None = None) -> int:
    """Bring the catalog to the newest internal schema version, as the next writer would."""
    from omnigraph_l2._cli.work import keeping

    return keeping.migrate(begun(common), yes=yes, dry_run=dry_run)
