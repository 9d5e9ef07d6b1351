"""Check the commits of a branch: one chain without gap or fork, equal in catalog and log.

Invariant: nothing is written. The catalog is read before the log, so that a commit published in
between is not reported as missing. Memory grows with the number of commits of one branch, of which
only ids are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.graph_commit import GraphCommit, Published
from omnigraph_l2._commit.branch_session import LOG_LAG
from omnigraph_l2._maintenance.verify_catalog import Shown
from omnigraph_l2._maintenance.verify_report import Collector, Severity
from omnigraph_l2._model.repository_layout import COMMITS
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["Unlogged", "check_history", "find_unlogged"]

_CHAIN = pa.schema([("graph_commit_id", pa.string()), ("parent_commit_id", pa.string())])
_LOG_COPY = "bring _graph_commits.lance back from a copy"
_SHOWN = 10


@attrs.frozen(kw_only=True)
class Unlogged:
    """What the log lacks of the commits that the catalog holds."""

    commits: tuple[GraphCommit, ...]
    without_actor: tuple[GraphCommit, ...]
    without_note: tuple[GraphCommit, ...]
    different: tuple[tuple[GraphCommit, str], ...]
    """Commits of which the log says something else, and what."""
    is_behind_only: bool
    """Whether those that are lacking are the newest ones."""


def find_unlogged(root: RepositoryRoot, state: CatalogState) -> Unlogged:
    """Compare what the catalog holds with the log."""
    made = {each.commit_id: each.commit for each in state.publishes}
    found = CommitLog(root).find_all(list(made), state.branch) if made else []
    logged = {each.graph_commit_id: each for each in found}
    missing = [commit for key, commit in made.items() if key not in logged]
    newest = list(made)[len(made) - len(missing) :]
    # What a branch took over from where it started is compared there.
    pairs = [
        (commit, logged[key])
        for key, commit in made.items()
        if key in logged and commit.manifest_branch == state.branch
    ]
    return Unlogged(
        commits=tuple(missing),
        without_actor=tuple(
            ours for ours, theirs in pairs if ours.actor_id is not None and theirs.actor_id is None
        ),
        without_note=tuple(
            ours for ours, theirs in pairs if any(_note(ours)) and not any(_note(theirs))
        ),
        different=tuple(
            (ours, differing) for ours, theirs in pairs if (differing := _different(ours, theirs))
        ),
        is_behind_only=[each.graph_commit_id for each in missing] == newest,
    )


def _note(commit: GraphCommit) -> tuple[str | None, ...]:
    return commit.message, commit.run_id, commit.operation_hash


def _different(ours: GraphCommit, theirs: GraphCommit) -> str:
    left_out = set()
    if theirs.actor_id is None:
        left_out.add("actor_id")
    if not any(_note(theirs)):
        left_out |= {"message", "run_id", "operation_hash"}
    return ", ".join(
        f"{name} is {getattr(theirs, name)!r} and not {getattr(ours, name)!r}"
        for name in attrs.fields_dict(GraphCommit)
        if name not in left_out and getattr(ours, name) != getattr(theirs, name)
    )


def check_history(root: RepositoryRoot, shown: Shown, collector: Collector) -> None:
    """Check the commits of one branch."""
    mine = Collector()
    with mine.guard("log-unreadable", f"the log of {shown.subject}", _LOG_COPY):
        _check_log(find_unlogged(root, shown.state), shown.subject, mine)
        _check_chain(root, shown, mine)
    if not mine.has_errors or shown.stands():
        collector.take(mine)


def _check_log(found: Unlogged, subject: str, collector: Collector) -> None:
    if found.commits:
        usual = found.is_behind_only and len(found.commits) <= LOG_LAG
        collector.add(
            Severity.INFO if usual else Severity.WARNING,
            "log-behind",
            f"the log of {subject}",
            f"{len(found.commits)} commits of the catalog are not in it, from "
            f"{found.commits[0].graph_commit_id} on",
            "repo.flush where they were published, the next publishes, or repair complete it",
        )
    for kind, what, commits in (
        ("actor-missing", "who made it", found.without_actor),
        ("note-missing", "its message, run and operation", found.without_note),
    ):
        for commit in commits:
            detail = f"the log has it, without {what}, which the catalog knows"
            subject_ = f"commit {commit.graph_commit_id} of {subject}"
            collector.add(Severity.WARNING, kind, subject_, detail, "repair adds it")
    for commit, differing in found.different:
        subject_ = f"commit {commit.graph_commit_id} of {subject}"
        detail = f"the log and the catalog differ: {differing}"
        collector.error("log-differs", subject_, detail, _LOG_COPY)


def _check_chain(root: RepositoryRoot, shown: Shown, collector: Collector) -> None:
    state = shown.state
    chain = _chain(root, state)
    ids, parents = chain["graph_commit_id"], chain["parent_commit_id"].drop_null()
    collector.count("commits", len(ids))
    for one in _find_repeated(ids):
        detail = "it stands there with different parents"
        collector.error("commit-differs", f"commit {one} of {shown.subject}", detail, _LOG_COPY)
    # Another publisher writes its line of the log after its publish: a commit of ours in
    # between takes the one before it for its parent, too.
    severity = Severity.WARNING if state.foreign_version else Severity.ERROR
    for one in _find_repeated(parents):
        detail = "two commits of the branch follow it, so that one of them was not seen"
        collector.add(
            severity, "commit-forked", f"commit {one} of {shown.subject}", detail, _LOG_COPY
        )
    elsewhere = parents.filter(pc.invert(pc.is_in(parents, value_set=ids.combine_chunks())))
    outside: list[str] = elsewhere.unique().to_pylist()
    known = {each.graph_commit_id for each in CommitLog(root).find_all(outside, state.branch)}
    known |= {each.commit_id for each in state.publishes}
    for one in outside:
        if one not in known:
            detail = "a commit of the branch names it as its parent, and it is nowhere"
            collector.error("commit-missing", f"commit {one} of {shown.subject}", detail, _LOG_COPY)
    starts = len(outside) + chain["parent_commit_id"].null_count
    if starts > 1 and all(one in known for one in outside):
        detail = f"{starts} commits of the branch follow none of it, and only the first one may"
        collector.error("commit-forked", f"the commits of {shown.subject}", detail, _LOG_COPY)


def _chain(root: RepositoryRoot, state: CatalogState) -> pa.Table:
    """Return id and parent of each commit that was made on the branch, once."""
    mine = "IS NULL" if state.branch is None else f"= '{state.branch}'"
    logged = root.open(COMMITS, branch=state.branch).read(
        columns=_CHAIN.names, filter=f"manifest_branch {mine}"
    )
    held = _rows([made for made in state.publishes if made.commit.manifest_branch == state.branch])
    both = pa.concat_tables([logged.cast(_CHAIN), held])
    return both.group_by(_CHAIN.names).aggregate([])


def _rows(publishes: Sequence[Published]) -> pa.Table:
    rows = [
        {
            "graph_commit_id": made.commit_id,
            "parent_commit_id": made.commit.parent_commit_id,
        }
        for made in publishes
    ]
    return pa.Table.from_pylist(rows, schema=_CHAIN)


def _find_repeated(values: pa.ChunkedArray) -> list[str]:
    counted = pc.value_counts(values)
    more = pc.greater(counted.field("counts"), 1)
    found: list[str] = counted.field("values").filter(more).slice(0, _SHOWN).to_pylist()
    return found
