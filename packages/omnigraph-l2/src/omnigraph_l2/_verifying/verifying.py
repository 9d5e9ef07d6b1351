"""Looking at everything: what ``repo.verify`` does.

Always: nothing is written, with handles of its own, so that nothing that was remembered hides what
is on disk. One broken thing does not stop the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

import attrs

from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._manifest.catalog import load
from omnigraph_l2._runs.records import RunRecord, RunStatus
from omnigraph_l2._runs.registry import Registry
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST, ORIGINAL_SCHEMA
from omnigraph_l2._verifying.catalogs import Shown, branch_shown, tag_shown
from omnigraph_l2._verifying.histories import check_history
from omnigraph_l2._verifying.remains import left_over, not_at_head, torn_heads
from omnigraph_l2._verifying.report import Collector, Severity, VerifyReport
from omnigraph_l2._verifying.survey import Survey, survey
from omnigraph_l2._verifying.tables import Thorough, check_edges, check_tables, pins_of
from omnigraph_l2.errors import InvalidRequest, UnknownTable

__all__ = ["Looked", "look", "verify"]

_QUICK = Thorough(duplicates=False, values=False)


@attrs.frozen(kw_only=True)
class Looked:
    """What a look at a repository has found."""

    there: Survey
    branches: list[Shown]
    shown: list[Shown]
    """What branches and tags show."""
    report: VerifyReport


def verify(
    root: Root,
    clock: Callable[[], datetime],
    *,
    tables: Any,
    thorough: Thorough,
    dangling_edges: bool,
) -> VerifyReport:
    """Look at everything."""
    limited = _listed(tables)
    fresh = root.anew()
    try:
        return look(
            fresh, clock, tables=limited, thorough=thorough, dangling_edges=dangling_edges
        ).report
    finally:
        fresh.close()


def _listed(tables: Any) -> frozenset[str] | None:
    if tables is None:
        return None
    if isinstance(tables, str) or not isinstance(tables, Collection):
        reason = f"tables are several table keys, found {tables!r}"
        raise InvalidRequest(what="Verifying", reason=reason)
    return frozenset(tables)


def look(
    root: Root,
    clock: Callable[[], datetime],
    *,
    tables: frozenset[str] | None = None,
    thorough: Thorough | None = None,
    dangling_edges: bool = False,
) -> Looked:
    """Look at everything, with handles that nobody has used."""
    collector = Collector()
    there = survey(root, clock, collector)
    looked = [branch_shown(root, clock, lineage, collector) for lineage in there.lineages]
    branches = [each for each in looked if each is not None]
    for each in branches:
        check_history(root, each, collector)
    tags = [tag_shown(root, tag, collector) for tag in there.tags]
    shown = [*branches, *(each for each in tags if each is not None)]
    _check_runs(root, clock, there, collector)
    _check_remains(root, there, shown, clock(), collector)
    _check_torn(root, branches, shown, collector)
    known = {key for each in shown for key in each.state.registrations}
    for key in sorted((tables or frozenset()) - known):
        raise UnknownTable(table_key=key, known=tuple(sorted(known)))
    pins = pins_of(shown, tables)
    broken = check_tables(root, pins, thorough or _QUICK, collector)
    if dangling_edges:
        check_edges(root, shown, broken, tables, collector)
    if root.holds_file(ORIGINAL_SCHEMA):
        _check_heads(root, branches, collector)
    report = collector.report(root.place)
    return Looked(there=there, branches=branches, shown=shown, report=report)


def _check_remains(
    root: Root, there: Survey, shown: list[Shown], now: datetime, collector: Collector
) -> None:
    """Look for native branches that nothing names."""
    for left in left_over(root, there, shown, now):
        severity = Severity.WARNING if left.is_old else Severity.INFO
        remedy = "repair removes it" if left.is_old else "wait: it may be in the making"
        detail = "nothing names this native branch: its making, or its removal, was cut short"
        collector.add(severity, "branch-left-over", left.subject, detail, remedy)


def _check_torn(
    root: Root, branches: list[Shown], shown: list[Shown], collector: Collector
) -> None:
    """Look for what a power cut left."""
    for torn in torn_heads(root, branches, shown):
        detail = f"its newest version, {torn.version}, is damaged, as a power cut leaves it"
        remedy = "readers pass over it; the next writer, or repair, sets it aside"
        collector.add(Severity.INFO, "torn-version", torn.subject, detail, remedy)


def _check_runs(
    root: Root, clock: Callable[[], datetime], there: Survey, collector: Collector
) -> None:
    """Look for runs that are at work and have no branch: nobody can take them up."""
    for run in there.runs:
        if run.status is not RunStatus.RUNNING or run.run_branch in there.natives:
            continue
        pointer = there.pointers.get(run.target_branch)
        native = None if pointer is None else pointer.native_branch
        with collector.guard("run-unreadable", f"run {run.run_id}", "abort it"):
            catalog = root.open(MANIFEST, branch=native)
            made = load(catalog, root.place).state.commit(run.run_id)
            published = made is not None or GraphLog(root).find(run.run_id, native) is not None
            if not published and _is_stranded(root, clock, run):
                detail = "it is running, and its branch is not there"
                remedy = "abort it, and run again"
                subject = f"run {run.run_id}"
                collector.add(Severity.WARNING, "run-without-branch", subject, detail, remedy)


def _is_stranded(root: Root, clock: Callable[[], datetime], run: RunRecord) -> bool:
    """Look again: it may have begun or ended meanwhile."""
    now = Registry(root, clock).get(run.run_id)
    return (
        now is not None
        and now.status is RunStatus.RUNNING
        and run.run_branch not in root.open(MANIFEST).branches()
    )


def _check_heads(root: Root, branches: list[Shown], collector: Collector) -> None:
    """Look for tables that the original program could not write to."""
    for each in not_at_head(root, branches):
        collector.add(
            Severity.WARNING,
            "table-not-at-head",
            each.subject,
            f"version {each.version} is published, its head is {each.head}; the original program "
            "writes only where both are the same",
            "repair with align=True",
        )
