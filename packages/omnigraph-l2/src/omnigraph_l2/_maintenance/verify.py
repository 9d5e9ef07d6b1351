"""Check everything: the implementation of ``repo.verify``.

Invariant: nothing is written. Fresh handles are used, so that no cache hides what is on disk. A
broken item does not stop the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

import attrs

from omnigraph_l2._maintenance.inventory import Inventory, take_inventory
from omnigraph_l2._maintenance.leftover_report import find_leftovers, find_torn_heads
from omnigraph_l2._maintenance.verify_catalog import Shown, check_branch, check_tag
from omnigraph_l2._maintenance.verify_history import check_history
from omnigraph_l2._maintenance.verify_report import Collector, Severity, VerifyReport
from omnigraph_l2._maintenance.verify_tables import Thorough, check_edges, check_tables, pins_of
from omnigraph_l2._model.argument_checks import invalid_argument
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.manifest_store import load
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2._store.run_registry import Registry, RunRecord, RunStatus
from omnigraph_l2.errors import UnknownTable

__all__ = ["CheckedRepository", "check_repository", "verify"]

_QUICK = Thorough(duplicates=False, values=False)


@attrs.frozen(kw_only=True)
class CheckedRepository:
    """What a check of a repository has found."""

    there: Inventory
    branches: list[Shown]
    shown: list[Shown]
    """What branches and tags show."""
    report: VerifyReport


def verify(
    root: RepositoryRoot,
    clock: Callable[[], datetime],
    *,
    tables: Any,
    thorough: Thorough,
    dangling_edges: bool,
) -> VerifyReport:
    """Check a repository and return the report."""
    limited = _selection(tables)
    fresh = root.without_caches()
    try:
        return check_repository(
            fresh, clock, tables=limited, thorough=thorough, dangling_edges=dangling_edges
        ).report
    finally:
        fresh.close()


def _selection(tables: Any) -> frozenset[str] | None:
    if tables is None:
        return None
    if isinstance(tables, str) or not isinstance(tables, Collection):
        raise invalid_argument(tables, "tables", "a collection of table keys, or None for all")
    return frozenset(tables)


def check_repository(
    root: RepositoryRoot,
    clock: Callable[[], datetime],
    *,
    tables: frozenset[str] | None = None,
    thorough: Thorough | None = None,
    dangling_edges: bool = False,
) -> CheckedRepository:
    """Check everything, with fresh handles."""
    collector = Collector()
    there = take_inventory(root, clock, collector)
    looked = [check_branch(root, clock, lineage, collector) for lineage in there.lineages]
    branches = [each for each in looked if each is not None]
    for each in branches:
        check_history(root, each, collector)
    tags = [check_tag(root, tag, collector) for tag in there.tags]
    shown = [*branches, *(each for each in tags if each is not None)]
    _check_runs(root, clock, there, collector)
    _check_leftovers(root, there, shown, clock(), collector)
    _check_torn(root, branches, shown, collector)
    known = {key for each in shown for key in each.state.registrations}
    for key in sorted((tables or frozenset()) - known):
        raise UnknownTable(table_key=key, known=tuple(sorted(known)))
    pins = pins_of(shown, tables)
    broken = check_tables(root, pins, thorough or _QUICK, collector)
    if dangling_edges:
        check_edges(root, shown, broken, tables, collector)
    report = collector.report(root.location)
    return CheckedRepository(there=there, branches=branches, shown=shown, report=report)


def _check_leftovers(
    root: RepositoryRoot, there: Inventory, shown: list[Shown], now: datetime, collector: Collector
) -> None:
    """Report native branches that nothing names."""
    for left in find_leftovers(root, there, shown, now):
        severity = Severity.WARNING if left.is_old else Severity.INFO
        remedy = "repair removes it" if left.is_old else "wait: it may be in the making"
        detail = "nothing names this native branch: its making, or its removal, was cut short"
        collector.add(severity, "branch-left-over", left.subject, detail, remedy)


def _check_torn(
    root: RepositoryRoot, branches: list[Shown], shown: list[Shown], collector: Collector
) -> None:
    """Report versions that a power cut has damaged."""
    for torn in find_torn_heads(root, branches, shown):
        detail = f"its newest version, {torn.version}, is damaged, as a power cut leaves it"
        remedy = "readers pass over it; the next writer, or repair, sets it aside"
        collector.add(Severity.INFO, "torn-version", torn.subject, detail, remedy)


def _check_runs(
    root: RepositoryRoot, clock: Callable[[], datetime], there: Inventory, collector: Collector
) -> None:
    """Report running runs without a branch, which cannot be resumed."""
    for run in there.runs:
        if run.status is not RunStatus.RUNNING or run.run_branch in there.natives:
            continue
        pointer = there.pointers.get(run.target_branch)
        native = None if pointer is None else pointer.native_branch
        with collector.guard("run-unreadable", f"run {run.run_id}", "abort it"):
            catalog = root.open(MANIFEST, branch=native)
            made = load(catalog, root.location).state.commit(run.run_id)
            published = made is not None or CommitLog(root).find(run.run_id, native) is not None
            if not published and _is_stranded(root, clock, run):
                detail = "it is running, and its branch is not there"
                remedy = "abort it, and run again"
                subject = f"run {run.run_id}"
                collector.add(Severity.WARNING, "run-without-branch", subject, detail, remedy)


def _is_stranded(root: RepositoryRoot, clock: Callable[[], datetime], run: RunRecord) -> bool:
    """Check again: it may have begun or ended since."""
    now = Registry(root, clock).get(run.run_id)
    return (
        now is not None
        and now.status is RunStatus.RUNNING
        and run.run_branch not in root.open(MANIFEST).branches()
    )
