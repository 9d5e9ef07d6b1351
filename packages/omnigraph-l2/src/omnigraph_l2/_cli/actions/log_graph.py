"""``log``: the commits of a branch, or the graph of all branches drawn with characters.

Invariant of a drawing: each commit has its own line below all of its children, and each line is
connected to those above and below. A merged parent opens a column to the right of its commit. If
several columns wait for the same commit, only the leftmost continues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen
from rich.text import Text

from omnigraph_l2 import GraphCommit, Repository
from omnigraph_l2._cli.common_options import Job
from omnigraph_l2._cli.human_units import format_time
from omnigraph_l2._cli.json_document import plain
from omnigraph_l2._cli.terminal_output import style_line
from omnigraph_l2.errors import UnknownCommit

__all__ = ["GraphLine", "draw_commits", "log"]

_COLOURS = ("red", "green", "yellow", "blue", "magenta", "cyan")


def log(job: Job, branch: str, *, graph: bool, limit: int | None) -> int:
    """Show commits, newest first."""
    with job.open() as repo:
        commits = _list_all(repo, branch, limit) if graph else repo.log(branch, limit)
        names = _names(repo)
        with job.out.use_pager():
            if job.out.json:
                for commit in commits:
                    job.out.document(_document(commit, names))
            elif graph:
                _draw(job, commits, names)
            else:
                for commit in commits:
                    job.out.line(_describe(commit, names))
    return 0


def _list_all(repo: Repository, first: str, limit: int | None) -> list[GraphCommit]:
    """Return the commits of all branches and of what they merged, children before parents."""
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
            continue  # the history was truncated here
        found[commit_id] = commit
        unseen += [commit.parent_commit_id, commit.merged_parent_commit_id]
    return _newest_first(found)[:limit]


def _newest_first(commits: Mapping[str, GraphCommit]) -> list[GraphCommit]:
    """Sort children before parents, and otherwise the newest first."""
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
    """Return the branch and tag names of each commit, with their styles."""
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
    for line in draw_commits([(each.graph_commit_id, _parents(each)) for each in by_id.values()]):
        text = Text() if line.commit is None else _describe(by_id[line.commit], names)
        job.out.line(_colour_graph(line), " " if text else "", text)


def _colour_graph(line: GraphLine) -> Text:
    made = Text()
    for index, character in enumerate(line.picture):
        style = None if character in "* " else _COLOURS[(index // 2) % len(_COLOURS)]
        made.append(character, style)
    return made


def _describe(commit: GraphCommit, names: Mapping[str, list[tuple[str, str]]]) -> Text:
    made = style_line((commit.graph_commit_id, "yellow"), " ")
    heads = names.get(commit.graph_commit_id, [])
    for index, head in enumerate(heads):
        made.append_text(style_line("(" if index == 0 else ", ", head))
    made.append_text(
        style_line(") " if heads else "", (format_time(commit.created_at), "dim"), " ")
    )
    actor = f"{commit.actor_id}: " if commit.actor_id else ""
    made.append_text(style_line((actor, "cyan"), commit.message or _default_message(commit)))
    return made


def _default_message(commit: GraphCommit) -> str:
    return "(first commit)" if commit.parent_commit_id is None else "(no message)"


def _document(commit: GraphCommit, names: Mapping[str, list[tuple[str, str]]]) -> dict[str, object]:
    """Return a commit as a JSON document with its branches and tags."""
    heads = [name for name, _ in names.get(commit.graph_commit_id, [])]
    tags = [each.removeprefix("tag: ") for each in heads if each.startswith("tag: ")]
    branches = [each for each in heads if not each.startswith("tag: ")]
    return {**plain(commit), "branches": branches, "tags": tags}


@frozen
class GraphLine:
    """A line of the drawing."""

    picture: str
    commit: str | None = None
    """The commit on this line; None if columns only move."""


def draw_commits(commits: Sequence[tuple[str, Sequence[str]]]) -> Iterator[GraphLine]:
    """Draw commits, given as pairs of an id and its parents' ids, children before parents.

    The column of a parent that is not among them continues to the end.
    """
    columns: list[str] = []
    """The commit that each column waits for."""
    for commit, parents in commits:
        if commit not in columns:
            columns.append(commit)
        at = columns.index(commit)
        yield GraphLine(_commit_row(len(columns), at), commit)
        if not parents:
            del columns[at]
            if at < len(columns):
                yield GraphLine(_left_row(len(columns), at))
            continue
        columns[at] = parents[0]
        for number, parent in enumerate(parents[1:]):
            yield GraphLine(_right_row(len(columns), at + number))
            columns.insert(at + number + 1, parent)
        while (duplicates := _find_duplicates(columns)) is not None:
            yield GraphLine(_join_row(len(columns), *duplicates))
            del columns[duplicates[1]]


def _find_duplicates(columns: Sequence[str]) -> tuple[int, int] | None:
    """Return two columns that wait for the same commit."""
    for last in reversed(range(len(columns))):
        first = columns.index(columns[last])
        if first != last:
            return first, last
    return None


def _commit_row(count: int, at: int) -> str:
    return " ".join("*" if index == at else "|" for index in range(count))


def _join_row(count: int, at: int, last: int) -> str:
    """Draw how column ``last`` joins column ``at``, and those to its right move left."""
    cells = list(" " * (2 * count - 1))
    for index in range(last):
        cells[2 * index] = "|"
    for gap in range(2 * at + 1, 2 * last - 1, 2):
        cells[gap] = "_"
    for index in range(last, count):
        cells[2 * index - 1] = "/"
    return "".join(cells).rstrip()


def _left_row(count: int, at: int) -> str:
    """Draw how the columns to the right of the ended column ``at`` move left."""
    return ("| " * at + " " + "/ " * (count - at)).rstrip()


def _right_row(count: int, at: int) -> str:
    """Draw how a column opens to the right of ``at``, and those there move right."""
    return ("| " * at + "|" + "\\ " * (count - at)).rstrip()
