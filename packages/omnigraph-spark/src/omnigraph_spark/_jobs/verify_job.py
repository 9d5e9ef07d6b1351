"""The job ``verify``: executors check what needs all rows, ``omnigraph_l2`` checks the rest.

Invariant: the findings are those of ``Repository.verify`` for what branches and tags show. Nothing
is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Final

import attrs
from pyspark.sql import SparkSession

from omnigraph_l2 import OmniGraphError, Repository, Snapshot, VerifyReport
from omnigraph_l2.reports import Severity
from omnigraph_spark._jobs.job_progress import JobProgress, Listener
from omnigraph_spark._jobs.parallel_jobs import run_parallel
from omnigraph_spark._jobs.table_checks import Revision, TableChecks, is_present
from omnigraph_spark._options.argument_checks import check_session

__all__ = ["verify"]

_ORDER: Final = list(Severity)


def verify(
    spark: SparkSession,
    uri: str,
    *,
    tables: Collection[str] | None = None,
    dangling_edges: bool = False,
    duplicates: bool = True,
    values: bool = False,
    storage_options: Mapping[str, str] | None = None,
    progress: Listener | None = None,
) -> VerifyReport:
    """Verify a repository. The arguments are those of ``Repository.verify``."""
    check_session(spark)
    log = JobProgress(progress)
    with Repository.open(uri, dict(storage_options or {}) or None) as repo:
        log.say(f"catalog, history and files of {repo.uri}")
        report = repo.verify(tables=tables, duplicates=False)
        log.say(str(report).splitlines()[0])
        checks = TableChecks(spark, report, frozenset(tables) if tables is not None else None)
        for revision in _find_revisions(repo, report):
            checks.add(revision, duplicates=duplicates, values=values, edges=dangling_edges)
        found = {}
        for check, findings in run_parallel(lambda each: each.work(), checks.found.values()):
            found[check] = findings
            log.say(f"{check.label}: {len(findings) or 'no'} findings")
        # In the order of what was looked at, whichever was ready first.
        findings = [
            *report.findings,
            *(one for check in checks.found.values() for one in found[check]),
        ]
        findings.sort(key=lambda each: _ORDER.index(each.severity))
        return attrs.evolve(report, findings=tuple(dict.fromkeys(findings)))


def _find_revisions(repo: Repository, report: VerifyReport) -> Iterator[Revision]:
    """Yield the snapshots of branches and tags; unreadable ones are findings already."""
    lookups: list[tuple[str, Callable[[], Snapshot], Callable[[], object]]] = [
        (
            f"branch {each.name}",
            partial(repo.snapshot, each.name),
            partial(repo.branches.get, each.name),
        )
        for each in repo.branches.list()
    ]
    lookups += [
        (
            f"tag {each.name}",
            partial(repo.snapshot, tag=each.name),
            partial(repo.tags.get, each.name),
        )
        for each in repo.tags.list()
    ]
    for subject, read, find in lookups:
        try:
            yield Revision(subject, read(), find)
        except OmniGraphError:
            known = any(each.severity is Severity.ERROR for each in report.findings)
            if not known and is_present(find):
                raise
