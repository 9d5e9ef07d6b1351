"""``log``: the commits of a branch, or of all branches with their merges drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.text import Text

from omnigraph_l2 import GraphCommit, Repository
from omnigraph_l2._cli.drawing import Drawn, drawn
from omnigraph_l2._cli.options import Job
from omnigraph_l2._cli.output import styled
from omnigraph_l2._cli.plain import plain
from omnigraph_l2._cli.times import shown_time
from omnigraph_l2.errors import UnknownCommit

__all__ = ["log"]

_COLOURS = ("red", "green", "yellow", "blue", "magenta", "cyan")


def log(job: Job, branch: str, *, graph: bool, limit: int | None) -> int:
    """Show commits, newest first."""
    with job.open() as repo:
        commits = _of_all(repo, branch, limit) if graph else repo.log(branch, limit)
        names = _names(repo)
        with job.out.paged():
            if job.out.json:
                for commit in commits:
                    job.out.document(_document(commit, names))
            elif graph:
                _draw(job, commits, names)
            else:
                for commit in commits:
                    job.out.line(_told(commit, names))
    return 0


def _of_all(repo: Repository, first: str, limit: int | None) -> list[GraphCommit]:
    """Give the commits of all branches and what they merged, none before one that follows it."""
    found: dict[str, GraphCommit] = {}
    others = [each.name for each in repo.branches.list() if each.name != first]
    for name in (first, *others):
        found |= {each.graph_commit_id: each for each in repo.log(name, limit)}
    unseen = [each.merged_parent_commit_id for each in found.values()]
    while unseen:
        commit_id = unseen.pop()
        if commit_id is None or commit_id in found or (limit is not None and len(found) >= limit):
            continue
        try:
            commit = repo.commit(commit_id)
        except UnknownCommit:
            continue  # of a repository that was cut short: the line simply ends
        found[commit_id] = commit
        unseen += [commit.parent_commit_id, commit.merged_parent_commit_id]
    return _newest_first(found)[:limit]


def _newest_first(commits: Mapping[str, GraphCommit]) -> list[GraphCommit]:
    """Put children before parents, and the newest first where that leaves a choice."""
    children = dict.fromkeys(commits, 0)
    for commit in commits.values():
        for parent in _parents(commit):
            if parent in children:
                children[parent] += 1
    free = [each for each in commits.values() if not children[each.graph_commit_id]]
    ordered: list[GraphCommit] = []
    while free:
        commit = max(free, key=lambda each: (each.created_at, each.graph_commit_id))
        free.remove(commit)
        ordered.append(commit)
        for parent in _parents(commit):
            if parent in children:
                children[parent] -= 1
                if not children[parent]:
                    free.append(commits[parent])
    return ordered


def _parents(commit: GraphCommit) -> tuple[str, ...]:
    both = (commit.parent_commit_id, commit.merged_parent_commit_id)
    return tuple(dict.fromkeys(each for each in both if each is not None))


def _names(repo: Repository) -> dict[str, list[tuple[str, str]]]:
    """Name the heads of branches, and what tags name, with the style of each."""
    found: dict[str, list[tuple[str, str]]] = {}
    for branch in repo.branches.list():
        head = repo.branches.get(branch.name).head_commit_id
        if head is not None:
            found.setdefault(head, []).append((branch.name, "bold green"))
    for tag in repo.tags.list():
        found.setdefault(tag.graph_commit_id, []).append((f"tag: {tag.name}", "bold yellow"))
    return found


def _draw(
    job: Job, commits: Iterable[GraphCommit], names: Mapping[str, list[tuple[str, str]]]
) -> None:
    by_id = {each.graph_commit_id: each for each in commits}
    for line in drawn([(each.graph_commit_id, _parents(each)) for each in by_id.values()]):
        told = Text() if line.commit is None else _told(by_id[line.commit], names)
        job.out.line(_coloured(line), " " if told else "", told)


def _coloured(line: Drawn) -> Text:
    made = Text()
    for index, character in enumerate(line.picture):
        style = None if character in "* " else _COLOURS[(index // 2) % len(_COLOURS)]
        made.append(character, style)
    return made


def _told(commit: GraphCommit, names: Mapping[str, list[tuple[str, str]]]) -> Text:
    made = styled((commit.graph_commit_id, "yellow"), " ")
    heads = names.get(commit.graph_commit_id, [])
    for index, head in enumerate(heads):
        made.append_text(styled("(" if index == 0 else ", ", head))
    made.append_text(styled(") " if heads else "", (shown_time(commit.created_at), "dim"), " "))
    actor = f"{commit.actor_id}: " if commit.actor_id else ""
    made.append_text(styled((actor, "cyan"), commit.message or _unsaid(commit)))
    return made


def _unsaid(commit: GraphCommit) -> str:
    return "(the beginning)" if commit.parent_commit_id is None else "(no message)"


def _document(commit: GraphCommit, names: Mapping[str, list[tuple[str, str]]]) -> dict[str, object]:
    """Give a commit as a document, with the names that it has."""
    heads = [name for name, _ in names.get(commit.graph_commit_id, [])]
    tags = [each.removeprefix("tag: ") for each in heads if each.startswith("tag: ")]
    branches = [each for each in heads if not each.startswith("tag: ")]
    return {**plain(commit), "branches": branches, "tags": tags}
