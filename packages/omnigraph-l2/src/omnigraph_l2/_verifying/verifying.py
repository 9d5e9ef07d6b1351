"""Looking at everything: what ``repo.verify`` does.

Always: nothing is written, with handles of its own, so that nothing that was remembered hides what
is on disk. One broken thing does not stop the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._manifest.catalog import load
from omnigraph_l2._runs.records import RunStatus
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST, ORIGINAL_SCHEMA
from omnigraph_l2._verifying.catalogs import Shown, branch_shown, tag_shown
from omnigraph_l2._verifying.histories import check_history
from omnigraph_l2._verifying.remains import left_over, not_at_head
from omnigraph_l2._verifying.report import Collector, Severity, VerifyReport
from omnigraph_l2._verifying.survey import Survey, survey
from omnigraph_l2._verifying.tables import Thorough, check_edges, check_tables, pins_of
from omnigraph_l2.errors import InvalidRequest, UnknownTable

__all__ = ["verify"]


def verify(
    root: Root,
    clock: Callable[[], datetime],
    *,
    tables: Any,
    thorough: Thorough,
    dangling_edges: bool,
) -> VerifyReport:
    """Look at everything."""
    fresh = Root(root.storage, root.durability)
    try:
        return _verified(fresh, clock, _listed(tables), thorough, dangling_edges=dangling_edges)
    finally:
        fresh.close()


def _listed(tables: Any) -> frozenset[str] | None:
    if tables is None:
        return None
    if isinstance(tables, str) or not isinstance(tables, Collection):
        reason = f"tables are several table keys, found {tables!r}"
        raise InvalidRequest(what="Verifying", reason=reason)
    return frozenset(tables)


def _verified(
    root: Root,
    clock: Callable[[], datetime],
    tables: frozenset[str] | None,
    thorough: Thorough,
    *,
    dangling_edges: bool,
) -> VerifyReport:
    collector = Collector()
    there = survey(root, clock, collector)
    looked = [branch_shown(root, clock, lineage, collector) for lineage in there.lineages]
    branches = [each for each in looked if each is not None]
    for each in branches:
        check_history(root, each, collector)
    tags = [tag_shown(root, tag, collector) for tag in there.tags]
    shown = [*branches, *(each for each in tags if each is not None)]
    _check_runs(root, there, collector)
    paths = sorted({r.location for each in branches for r in each.state.registrations.values()})
    for left in left_over(root, there, paths, clock()):
        severity = Severity.WARNING if left.is_old else Severity.INFO
        remedy = "repair removes it" if left.is_old else "wait: it may be in the making"
        detail = "nothing names this native branch: its making, or its removal, was cut short"
        collector.add(severity, "branch-left-over", left.subject, detail, remedy)
    known = {key for each in shown for key in each.state.registrations}
    for key in sorted((tables or frozenset()) - known):
        raise UnknownTable(table_key=key, known=tuple(sorted(known)))
    broken = check_tables(root, pins_of(shown, tables), thorough, collector)
    if dangling_edges:
        check_edges(root, shown, broken, tables, collector)
    if root.holds_file(ORIGINAL_SCHEMA):
        _check_heads(root, branches, collector)
    return collector.report(root.place)


def _check_runs(root: Root, there: Survey, collector: Collector) -> None:
    """Look for runs that are at work and have no branch: nobody can take them up."""
    for run in there.runs:
        if run.status is not RunStatus.RUNNING or run.run_branch in there.natives:
            continue
        pointer = there.pointers.get(run.target_branch)
        native = None if pointer is None else pointer.native_branch
        with collector.guard("run-unreadable", f"run {run.run_id}", "abort it"):
            catalog = root.open(MANIFEST, branch=native)
            made = load(catalog, root.place).state.commit(run.run_id)
            if made is None and GraphLog(root).find(run.run_id, native) is None:
                detail = "it is running, and its branch is not there"
                remedy = "abort it, and run again"
                subject = f"run {run.run_id}"
                collector.add(Severity.WARNING, "run-without-branch", subject, detail, remedy)


def _check_heads(root: Root, branches: list[Shown], collector: Collector) -> None:
    """Look for tables that the original program could not write to."""
    for table_key, shown, head in not_at_head(root, branches):
        entry = shown.state.tables[table_key]
        collector.add(
            Severity.WARNING,
            "table-not-at-head",
            f"{table_key} of {shown.subject}",
            f"version {entry.table_version} is published, its head is {head}; the original "
            "program writes only where both are the same",
            "repair with align=True",
        )
