"""How omnigraph-testing is used, for the type checker."""

from __future__ import annotations

from pathlib import Path

from obstore.store import MemoryStore

from omnigraph_testing import (
    AtPoint,
    Crash,
    CutReply,
    DynamoTable,
    FaultyS3,
    FaultyStore,
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


def test_without_conditions(omnigraph_dynamodb_table: DynamoTable) -> None:
    """A table that decides versions."""
    name: str = omnigraph_dynamodb_table.name
    options: dict[str, str] = omnigraph_dynamodb_table.storage_options
    del name, options


def test_without_http(store: MemoryStore) -> None:
    """The same fault controls around a store in this process."""
    faulty_store = FaultyStore(store)
    data: bytes = bytes(faulty_store.get("x").bytes())
    with faulty_store.hold("PUT"), faulty_store.expect(max_requests=0):
        paths: list[str] = [each["path"] for chunk in faulty_store.list() for each in chunk]
    del data, paths


def test_with_crashes(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """Processes that die."""
    outcome: Outcome = omnigraph_crash.run(str, 3, kill=AtPoint("somewhere"))
    killed: bool = outcome.killed
    del killed, tmp_path
