"""The names below the root of a repository: see docs/format.md."""

from __future__ import annotations

from typing import Final

__all__ = [
    "BRANCH_REFS",
    "COMMITS",
    "COMMITS_KEPT",
    "COMMIT_ACTORS",
    "COMMIT_NOTES",
    "LEASE_REFS",
    "LOG_DATASETS",
    "MANIFEST",
    "OPERATION_REFS",
    "RUNS",
    "RUN_ACTORS",
    "SCHEMA_LOCK_BRANCH",
    "TAG_REFS",
    "TURNS",
]

MANIFEST: Final = "__manifest"
COMMITS: Final = "_graph_commits.lance"
COMMITS_KEPT: Final = "_graph_commits_kept.lance"
COMMIT_ACTORS: Final = "_graph_commit_actors.lance"
COMMIT_NOTES: Final = "_graph_commit_notes.lance"
RUNS: Final = "_graph_runs.lance"
RUN_ACTORS: Final = "_graph_run_actors.lance"
LOG_DATASETS: Final = (COMMITS, COMMITS_KEPT, COMMIT_ACTORS, COMMIT_NOTES, RUNS, RUN_ACTORS)
BRANCH_REFS: Final = "_refs/branches"
OPERATION_REFS: Final = "_refs/operations"
TAG_REFS: Final = "_refs/tags"
LEASE_REFS: Final = "_refs/leases"
TURNS: Final = "_turn"

SCHEMA_LOCK_BRANCH: Final = "__schema_apply_lock__"
"""While this native branch of the catalog exists, the original program changes the schema."""
