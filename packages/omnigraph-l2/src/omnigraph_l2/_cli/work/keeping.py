"""``optimize``, ``cleanup``, ``verify``, ``repair``, ``migrate``: a repository in order."""

from __future__ import annotations

from omnigraph_l2 import CleanupReport, Severity, Swept
from omnigraph_l2._cli.options import Job
from omnigraph_l2._cli.plain import plain
from omnigraph_l2._cli.status import DAMAGE, DONE, FAILED
from omnigraph_l2._cli.times import duration_of, shown_bytes
from omnigraph_l2._cli.work.asking import decided

__all__ = ["cleanup", "migrate", "optimize", "repair", "verify"]

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def optimize(job: Job, tables: tuple[str, ...], branch: str, *, message: str | None) -> int:
    """Merge small fragments, and keep indexes up."""
    with job.open() as repo:
        job.out.tell(f"optimizing {', '.join(tables) or 'all tables'} of {branch}")
        report = repo.optimize(tables or None, branch, message=message)
    if job.out.json:
        job.out.document(report)
    else:
        job.out.text(report)
    return DONE


def cleanup(
    job: Job, older_than: str, keep_versions: int | None, *, yes: bool, dry_run: bool
) -> int:
    """Remove what nobody needs, after having told what that is."""
    age = duration_of(older_than)
    with job.open() as repo:
        report = repo.cleanup(age, keep_versions, dry_run=not yes or dry_run)
        document = {**plain(report), "bytes": report.bytes, "count": report.count}
        done = not report.dry_run
        if not job.out.json:
            _swept(job, report)
        text = f"{report.count:,} things of {shown_bytes(report.bytes)}"
        status = decided(job, "remove", document, text, yes=yes, dry_run=dry_run)
    if report.failed:
        job.out.warn(f"{report.failed} files were not removed by the store: run it again")
    return FAILED if done and report.failed else status


def _swept(job: Job, report: CleanupReport) -> None:
    rows = [
        (name.replace("_", " "), f"{value.count:,}", shown_bytes(value.bytes))
        for name in (
            "table_versions", "catalog_versions", "log_versions", "orphan_files", "forks",
            "tickets", "leases", "documents",
        )
        if isinstance(value := getattr(report, name), Swept) and value.count
    ]  # fmt: skip
    if rows:
        job.out.columns(("what", "count", "size"), rows)
    if report.held_back:
        job.out.tell("tables that somebody writes to for days were left alone")


def verify(
    job: Job,
    tables: tuple[str, ...],
    *,
    dangling_edges: bool,
    duplicates: bool,
    values: bool,
) -> int:
    """Look for damage."""
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


def repair(job: Job, *, align: bool, yes: bool, dry_run: bool) -> int:
    """Mend, after having told what."""
    with job.open() as repo:
        report = repo.repair(dry_run=not yes or dry_run, align=align)
    if not job.out.json:
        for action in report.actions:
            job.out.line(("mend  ", "green"), str(action))
        for finding in report.not_mended:
            job.out.line(("stays  ", "red"), str(finding))
    document = {**plain(report), "ok": report.ok}
    text = f"{len(report.actions)} things; {len(report.not_mended)} cannot be mended"
    status = decided(job, "mend", document, text, yes=yes, dry_run=dry_run)
    if any(each.severity is Severity.ERROR for each in report.not_mended):
        return DAMAGE
    return FAILED if any(each.problem for each in report.actions) else status


def migrate(job: Job, *, yes: bool, dry_run: bool) -> int:
    """Bring the catalog to the newest internal schema version."""
    with job.open() as repo:
        report = repo.migrate(dry_run=not yes or dry_run)
    document = {**plain(report), "is_needed": report.is_needed}
    if not report.is_needed:
        if job.out.json:
            job.out.document({"action": "migrate", "done": False, **document})
        else:
            job.out.line(f"all branches are at version {report.supported}: nothing is to be done")
        return DONE
    found = ", ".join(f"{name} from {version}" for name, version in report.found.items())
    text = f"the catalog to version {report.supported}: {found}"
    return decided(job, "bring", document, text, yes=yes, dry_run=dry_run)
