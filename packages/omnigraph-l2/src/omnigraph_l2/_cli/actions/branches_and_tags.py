"""``branch`` and ``tag``."""

from __future__ import annotations

from omnigraph_l2 import Branch, Repository
from omnigraph_l2._cli.actions.inspection import count_own_bytes
from omnigraph_l2._cli.common_options import Job, announce, parse_reference
from omnigraph_l2._cli.human_units import format_bytes, format_time
from omnigraph_l2._cli.json_document import plain

__all__ = [
    "create_branch",
    "create_tag",
    "delete_branch",
    "delete_tag",
    "list_branches",
    "list_tags",
]


def list_branches(job: Job) -> int:
    """List the branches with their heads."""
    with job.open() as repo:
        found = [repo.branches.get(each.name) for each in repo.branches.list()]
    if job.out.json:
        job.out.document({"branches": found})
        return 0
    rows = [
        (each.name, f"{each.manifest_version}", each.head_commit_id or "-",
         each.parent_branch or "-", format_time(each.updated_at))
        for each in found
    ]  # fmt: skip
    job.out.columns(("branch", "version", "head", "from", "changed"), rows)
    return 0


def create_branch(job: Job, name: str, source: str) -> int:
    """Create a branch."""
    with job.open() as repo:
        made = repo.branches.create(name, parse_reference(source))
    if job.out.json:
        job.out.document(made)
    else:
        job.out.line(f"branch {made.name} starts at {made.head_commit_id or 'the empty graph'}")
    return 0


def delete_branch(job: Job, name: str, *, force: bool, yes: bool) -> int:
    """Report what belongs to a branch only, then delete the branch."""
    with job.open() as repo:
        found = repo.branches.get(name)
        count, size = _own_commits_and_bytes(repo, found)
        document = {**plain(found), "commits": count, "bytes": size}
        text = (
            f"branch {name}: {count} commits since it started from "
            f"{found.parent_branch or 'nothing'}, {format_bytes(size)} of its own"
        )
        status = announce(job, "delete", document, text, yes=yes)
        if yes:
            repo.branches.delete(name, force=force)
    return status


def list_tags(job: Job) -> int:
    """List the tags."""
    with job.open() as repo:
        found = repo.tags.list()
    if job.out.json:
        job.out.document({"tags": found})
        return 0
    rows = [
        (each.name, each.graph_commit_id, each.branch, format_time(each.created_at),
         each.actor_id or "-", each.message or "-")
        for each in found
    ]  # fmt: skip
    job.out.columns(("tag", "commit", "branch", "made", "by", "message"), rows)
    return 0


def create_tag(job: Job, name: str, source: str, message: str | None) -> int:
    """Create a tag."""
    with job.open() as repo:
        made = repo.tags.create(name, parse_reference(source), message=message)
    if job.out.json:
        job.out.document(made)
    else:
        job.out.line(f"tag {made.name} names {made.graph_commit_id}")
    return 0


def delete_tag(job: Job, name: str, *, yes: bool) -> int:
    """Report which commit a tag names, then delete the tag."""
    with job.open() as repo:
        found = repo.tags.get(name)
        text = f"tag {name}, which names {found.graph_commit_id} of {found.branch}"
        status = announce(job, "delete", plain(found), text, yes=yes)
        if yes:
            repo.tags.delete(name)
    return status


def _own_commits_and_bytes(repo: Repository, found: Branch) -> tuple[int, int]:
    snapshot = repo.snapshot(found.name)
    parent = found.parent_manifest_version
    own = [
        each
        for each in repo.log(found.name)
        if each.manifest_branch == found.native_branch and each.manifest_version != parent
    ]
    size = sum(
        count_own_bytes(snapshot.dataset(key))
        for key, entry in snapshot.tables.items()
        if entry.table_branch is not None and entry.table_branch == found.native_branch
    )
    return len(own), size
