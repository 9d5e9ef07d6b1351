"""The job ``merge``: the merge of ``omnigraph_l2`` with progress.

Invariant: one publish or none. The driver does it with bounded memory; executors are not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from omnigraph_l2 import MergeResult, Repository
from omnigraph_spark._jobs.job_progress import JobProgress, Listener

__all__ = ["merge"]


def merge(
    spark: SparkSession,  # noqa: ARG001 - all jobs are called alike
    uri: str,
    source: str,
    into: str = "main",
    *,
    strategy: Any = "error",
    dry_run: bool = False,
    actor: str | None = None,
    message: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Listener | None = None,
) -> MergeResult:
    """Merge a branch into another one, or raise ``MergeConflicts`` with all of them."""
    log = JobProgress(progress)
    with Repository.open(uri, dict(storage_options or {}) or None, actor) as repo:
        log.say(f"merging {source} into {into} of {repo.uri}")
        done = repo.branches.merge(
            source, into, strategy=strategy, dry_run=dry_run, message=message
        )
        for line in str(done).splitlines():
            log.say(line)
        return done
