"""``verify`` on a cluster: what needs all rows is done by executors, the rest by ``omnigraph_l2``.

Always: the findings are those of ``Repository.verify``, of what branches and tags show; nothing is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Final

import attrs
from pyspark.sql import SparkSession

from omnigraph_l2 import OmniGraphError, Repository, Severity, Snapshot, VerifyReport
from omnigraph_spark._jobs.at_once import at_once
from omnigraph_spark._jobs.looking import Looks, Moment, stands
from omnigraph_spark._jobs.progress import Progress, Tell
from omnigraph_spark._session.given import check_session

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
    progress: Tell | None = None,
) -> VerifyReport:
    """Check all that should hold; the arguments are those of ``Repository.verify``."""
    check_session(spark)
    telling = Progress(progress)
    with Repository.open(uri, dict(storage_options or {}) or None) as repo:
        telling.say(f"catalog, history and files of {repo.uri}")
        report = repo.verify(tables=tables, duplicates=False)
        telling.say(str(report).splitlines()[0])
        looks = Looks(spark, report, frozenset(tables) if tables is not None else None)
        for moment in _moments(repo, report):
            looks.add(moment, duplicates=duplicates, values=values, edges=dangling_edges)
        found = {}
        for look, findings in at_once(lambda each: each.work(), looks.found.values()):
            found[look] = findings
            telling.say(f"{look.told}: {len(findings) or 'no'} findings")
        # In the order of what was looked at, whichever was ready first.
        findings = [
            *report.findings,
            *(one for look in looks.found.values() for one in found[look]),
        ]
        findings.sort(key=lambda each: _ORDER.index(each.severity))
        return attrs.evolve(report, findings=tuple(dict.fromkeys(findings)))


def _moments(repo: Repository, report: VerifyReport) -> Iterator[Moment]:
    """Give what branches and tags show; what cannot be read is among the findings already."""
    asked: list[tuple[str, Callable[[], Snapshot], Callable[[], object]]] = [
        (
            f"branch {each.name}",
            partial(repo.snapshot, each.name),
            partial(repo.branches.get, each.name),
        )
        for each in repo.branches.list()
    ]
    asked += [
        (
            f"tag {each.name}",
            partial(repo.snapshot, tag=each.name),
            partial(repo.tags.get, each.name),
        )
        for each in repo.tags.list()
    ]
    for subject, ask, find in asked:
        try:
            yield Moment(subject, ask(), find)
        except OmniGraphError:
            known = any(each.severity is Severity.ERROR for each in report.findings)
            if not known and stands(find):
                raise
