"""``init`` and ``evolve``: the types of a graph, from a file or from data."""

from __future__ import annotations

from pathlib import Path

from omnigraph_l2 import DropProperty, DropType, GraphSchema, Repository
from omnigraph_l2._cli.options import Job
from omnigraph_l2._cli.plain import plain
from omnigraph_l2._cli.status import UsageError
from omnigraph_l2._cli.work.asking import decided
from omnigraph_l2._cli.work.inferring import inferred
from omnigraph_l2._cli.work.looking import schema_document, show_schema
from omnigraph_l2._cli.work.schema_files import read

__all__ = ["evolve", "init"]


def init(job: Job, schema: Path | None, from_: tuple[str, ...], *, dry_run: bool) -> int:
    """Make a repository."""
    if schema is not None and from_:
        message = "say either --schema or --from: a schema is written or inferred"
        raise UsageError(message)
    found = _schema(job, schema, from_)
    if not dry_run:
        with Repository.init(job.settings.place, found, **job.how) as repo:
            place = repo.uri
    if job.out.json:
        made = None if dry_run else place
        document = {"repository": made, "dry_run": dry_run, **schema_document(found)}
        job.out.document(document)
        return 0
    if not dry_run:
        job.out.line("made ", (place, "bold"), f" with {len(found.types)} tables")
    show_schema(job, found)
    return 0


def evolve(
    job: Job, schema: Path, branch: str, *, yes: bool, dry_run: bool, message: str | None
) -> int:
    """Make the types those of a file; what drops something wants ``--yes``."""
    wanted = read(schema)
    with job.open() as repo:
        plan = repo.plan_evolution(wanted, branch=branch)
        drops = any(isinstance(each, DropType | DropProperty) for each in plan.steps)
        document = {"steps": [str(each) for each in plan.steps], "notes": list(plan.notes)}
        if dry_run or (drops and not yes):
            if not job.out.json:
                job.out.text(plan)
            return decided(job, "evolve", document, branch, yes=yes, dry_run=dry_run)
        commit = repo.evolve(wanted, branch=branch, message=message)
    if job.out.json:
        done = commit is not None
        job.out.document({"action": "evolve", "done": done, **document, "commit": plain(commit)})
    else:
        job.out.text(plan)
    return 0


def _schema(job: Job, schema: Path | None, from_: tuple[str, ...]) -> GraphSchema:
    if schema is not None:
        return read(schema)
    if not from_:
        return GraphSchema()
    found, looked_at = inferred(from_)
    for each in looked_at:
        names = ", ".join(word.name for word in each.words)
        job.out.tell(f"{each.key}: inferred from {each.rows:,} rows of {names}")
    return found
