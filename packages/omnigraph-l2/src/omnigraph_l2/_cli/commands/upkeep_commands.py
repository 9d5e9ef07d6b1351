"""Maintenance: ``optimize``, ``cleanup``, ``verify``, ``repair``, ``migrate``."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from omnigraph_l2._cli.common_options import Author, Common, Yes, message_of, prepare_job

__all__ = ["cleanup", "migrate", "optimize", "repair", "verify"]

_Tables = Annotated[
    tuple[str, ...],
    Parameter(name=["--table", "-t"], negative="", help="Only this table; can be repeated."),
]
_DryRun = Annotated[bool, Parameter(negative="", help="Only show what would be done.")]


def optimize(
    *,
    table: _Tables = (),
    branch: Annotated[str, Parameter(alias="-b", help="Branch.")] = "main",
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Merge small fragments, drop deleted rows from files, create and update indexes."""
    from omnigraph_l2._cli.actions import upkeep_reports

    job = prepare_job(common, author)
    return upkeep_reports.optimize(job, table, branch, message=message_of(author))


def cleanup(
    *,
    older_than: Annotated[
        str, Parameter(help="Keep everything that was current within this time: 7d, 12h, 0s.")
    ] = "7d",
    keep_versions: Annotated[
        int | None, Parameter(help="Also keep this many newest commits of each branch.")
    ] = None,
    yes: Yes = False,
    dry_run: _DryRun = False,
    common: Common | None = None,
) -> int:
    """Remove data that is no longer needed. The log keeps every commit."""
    from omnigraph_l2._cli.actions import upkeep_reports

    job = prepare_job(common)
    return upkeep_reports.cleanup(job, older_than, keep_versions, yes=yes, dry_run=dry_run)


def verify(
    *,
    table: _Tables = (),
    dangling_edges: Annotated[
        bool, Parameter(negative="", help="Check that both nodes of every edge exist.")
    ] = False,
    duplicates: Annotated[
        bool, Parameter(name="--no-duplicates", negative="", help="Do not look for duplicate ids.")
    ] = False,
    values: Annotated[bool, Parameter(negative="", help="Read every value.")] = False,
    common: Common | None = None,
) -> int:
    """Check the integrity of the repository. Exits with 5 if there are errors."""
    from omnigraph_l2._cli.actions import upkeep_reports

    job = prepare_job(common)
    return upkeep_reports.verify(
        job, table, dangling_edges=dangling_edges, duplicates=not duplicates, values=values
    )


def repair(*, yes: Yes = False, dry_run: _DryRun = False, common: Common | None = None) -> int:
    """Repair what can be repaired without losing published data."""
    from omnigraph_l2._cli.actions import upkeep_reports

    return upkeep_reports.repair(prepare_job(common), yes=yes, dry_run=dry_run)


def migrate(*, yes: Yes = False, dry_run: _DryRun = False, common: Common | None = None) -> int:
    """Migrate the catalog to the newest internal schema version, as the next writer would."""
    from omnigraph_l2._cli.actions import upkeep_reports

    return upkeep_reports.migrate(prepare_job(common), yes=yes, dry_run=dry_run)
