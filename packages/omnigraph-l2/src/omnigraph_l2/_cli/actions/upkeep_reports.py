"""``optimize``, ``cleanup``, ``verify``, ``repair``, ``migrate`` and their reports."""

from __future__ import annotations

from omnigraph_l2._cli.common_options import Job, announce
from omnigraph_l2._cli.exit_status import DAMAGE, DONE, FAILED
from omnigraph_l2._cli.human_units import format_bytes, parse_duration
from omnigraph_l2._cli.json_document import plain
from omnigraph_l2.reports import CleanupReport, Severity, Swept

__all__ = ["cleanup", "migrate", "optimize", "repair", "verify"]

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def optimize(job: Job, tables: tuple[str, ...], branch: str, *, message: str | None) -> int:
    """Merge small fragments and update indexes."""
    with job.open() as repo:
        job.out.info(f"optimizing {', '.join(tables) or 'all tables'} of {branch}")
        report = repo.optimize(tables or None, branch, message=message)
    if job.out.json:
        job.out.document(report)
    else:
        job.out.text(report)
    return DONE


def cleanup(
    job: Job, older_than: str, keep_versions: int | None, *, yes: bool, dry_run: bool
) -> int:
    """Report the data that is no longer needed, then remove it."""
    age = parse_duration(older_than)
    with job.open() as repo:
        report = repo.cleanup(age, keep_versions, dry_run=not yes or dry_run)
        document = {**plain(report), "bytes": report.bytes, "count": report.count}
        done = not report.dry_run
        if not job.out.json:
            _print_removed(job, report)
        text = f"{report.count:,} things of {format_bytes(report.bytes)}"
        status = announce(job, "remove", document, text, yes=yes, dry_run=dry_run)
    if report.failed:
        job.out.warn(f"The store did not remove {report.failed} files. Run cleanup again")
    return FAILED if done and report.failed else status


def _print_removed(job: Job, report: CleanupReport) -> None:
    rows = [
        (name.replace("_", " "), f"{value.count:,}", format_bytes(value.bytes))
        for name in (
            "table_versions", "catalog_versions", "log_versions", "orphan_files", "forks",
            "tickets", "leases", "documents",
        )
        if isinstance(value := getattr(report, name), Swept) and value.count
    ]  # fmt: skip
    if rows:
        job.out.columns(("what", "count", "size"), rows)
    if report.held_back:
        job.out.info("Tables with a write that has lasted for days were skipped.")


def verify(
    job: Job,
    tables: tuple[str, ...],
    *,
    dangling_edges: bool,
    duplicates: bool,
    values: bool,
) -> int:
    """Check the repository and print the findings."""
    with job.open() as repo:
        report = repo.verify(
            tables=tables or None,
            dangling_edges=dangling_edges,
            duplicates=duplicates,
            values=values,
        )
    if job.out.json:
        job.out.document({**plain(report), "ok": report.ok})
    else:
        head, *_ = str(report).split("\n")
        job.out.line(head)
        for each in report.findings:
            job.out.line((f"{each.severity.value}  ", _STYLES[each.severity]), each.kind)
            job.out.line(f"  {each.subject}: {each.detail}")
            job.out.line(f"  {each.remedy}")
    damaged = any(each.severity is Severity.ERROR for each in report.findings)
    return DAMAGE if damaged else DONE


def repair(job: Job, *, yes: bool, dry_run: bool) -> int:
    """Report what can be repaired, then repair it."""
    with job.open() as repo:
        report = repo.repair(dry_run=not yes or dry_run)
    if not job.out.json:
        for action in report.actions:
            job.out.line(("repair  ", "green"), str(action))
        for finding in report.not_mended:
            job.out.line(("cannot repair  ", "red"), str(finding))
    document = {**plain(report), "ok": report.ok}
    text = f"{len(report.actions)} problems; {len(report.not_mended)} cannot be repaired"
    status = announce(job, "mend", document, text, yes=yes, dry_run=dry_run)
    if any(each.severity is Severity.ERROR for each in report.not_mended):
        return DAMAGE
    return FAILED if any(each.problem for each in report.actions) else status


def migrate(job: Job, *, yes: bool, dry_run: bool) -> int:
    """Migrate the catalog to the newest internal schema version."""
    with job.open() as repo:
        report = repo.migrate(dry_run=not yes or dry_run)
    document = {**plain(report), "is_needed": report.is_needed}
    if not report.is_needed:
        if job.out.json:
            job.out.document({"action": "migrate", "done": False, **document})
        else:
            job.out.line(f"All branches are at version {report.supported}: nothing to do")
        return DONE
    found = ", ".join(f"{name} from {version}" for name, version in report.found.items())
    text = f"the catalog to version {report.supported}: {found}"
    return announce(job, "bring", document, text, yes=yes, dry_run=dry_run)
