"""``merge`` as a job: the merge of ``omnigraph_l2``, which costs what changed, told as it goes.

Always: one publish, or none. The driver does it, with bounded memory: executors are not needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from omnigraph_l2 import MergeResult, Repository
from omnigraph_spark._jobs.progress import Progress, Tell

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
    progress: Tell | None = None,
) -> MergeResult:
    """Merge a branch into another one, or raise ``MergeConflicts`` with all of them."""
    telling = Progress(progress)
    with Repository.open(uri, dict(storage_options or {}) or None, actor) as repo:
        telling.say(f"merging {source} into {into} of {repo.uri}")
        done = repo.branches.merge(
            source, into, strategy=strategy, dry_run=dry_run, message=message
        )
        for line in str(done).splitlines():
            telling.say(line)
        return done
