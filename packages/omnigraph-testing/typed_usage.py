"""How omnigraph-testing is used, for the type checker."""

from __future__ import annotations

from pathlib import Path

from omnigraph_testing import (
    AtPoint,
    Crash,
    CutReply,
    FaultyS3,
    Injected,
    Outcome,
    Request,
    Rule,
    S3Store,
)


def test_with_faults(faulty_s3: FaultyS3, s3_store: S3Store) -> None:
    """Rules, logs and budgets."""
    rule: Rule = Rule(CutReply(), "PUT", key="*.json", nth=2)
    injected: Injected = faulty_s3.inject(rule)
    with faulty_s3.expect(max_requests=10, max_sequential=3):
        options: dict[str, str] = faulty_s3.storage_options
    requests: tuple[Request, ...] = faulty_s3.requests
    uri: str = s3_store.uri("table")
    del injected, options, requests, uri


def test_with_crashes(crash: Crash, tmp_path: Path) -> None:
    """Processes that die."""
    outcome: Outcome = crash.run(str, 3, kill=AtPoint("somewhere"))
    killed: bool = outcome.killed
    del killed, tmp_path
