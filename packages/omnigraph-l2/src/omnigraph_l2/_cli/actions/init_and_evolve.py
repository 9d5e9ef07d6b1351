"""``init`` and ``evolve``: create a repository, and change its types."""

from __future__ import annotations

from pathlib import Path

from omnigraph_l2 import GraphSchema, Repository
from omnigraph_l2._cli.actions.inspection import schema_document, show_schema
from omnigraph_l2._cli.common_options import Job, announce
from omnigraph_l2._cli.exit_status import UsageError
from omnigraph_l2._cli.formats.schema_inference import infer_schema
from omnigraph_l2._cli.formats.schema_toml import read_schema
from omnigraph_l2._cli.json_document import plain
from omnigraph_l2.schema_changes import DropProperty, DropType

__all__ = ["evolve", "init"]


def init(job: Job, schema: Path | None, from_: tuple[str, ...], *, dry_run: bool) -> int:
    """Create a repository."""
    if schema is not None and from_:
        message = "Use either --schema or --from, not both"
        raise UsageError(message)
    found = _schema(job, schema, from_)
    if not dry_run:
        with Repository.init(job.settings.location, found, **job.open_options) as repo:
            uri = repo.uri
    if job.out.json:
        made = None if dry_run else uri
        document = {"repository": made, "dry_run": dry_run, **schema_document(found)}
        job.out.document(document)
        return 0
    if not dry_run:
        job.out.line("created ", (uri, "bold"), f" with {len(found.types)} tables")
    show_schema(job, found)
    return 0


def evolve(
    job: Job, schema: Path, branch: str, *, yes: bool, dry_run: bool, message: str | None
) -> int:
    """Change the types to those of a file; a plan that drops something needs ``--yes``."""
    target = read_schema(schema)
    with job.open() as repo:
        plan = repo.plan_evolution(target, branch=branch)
        drops = any(isinstance(each, DropType | DropProperty) for each in plan.steps)
        document = {"steps": [str(each) for each in plan.steps], "notes": list(plan.notes)}
        if dry_run or (drops and not yes):
            if not job.out.json:
                job.out.text(plan)
            return announce(job, "evolve", document, branch, yes=yes, dry_run=dry_run)
        commit = repo.evolve(target, branch=branch, message=message)
    if job.out.json:
        done = commit is not None
        job.out.document({"action": "evolve", "done": done, **document, "commit": plain(commit)})
    else:
        job.out.text(plan)
    return 0


def _schema(job: Job, schema: Path | None, from_: tuple[str, ...]) -> GraphSchema:
    if schema is not None:
        return read_schema(schema)
    if not from_:
        return GraphSchema()
    found, tables = infer_schema(from_)
    for each in tables:
        names = ", ".join(word.name for word in each.words)
        job.out.info(f"{each.key}: inferred from {each.rows:,} rows of {names}")
    return found
