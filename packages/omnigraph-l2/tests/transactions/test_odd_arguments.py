"""What callers get wrong: each is a typed error, and nothing is half done."""

# ruff: noqa: PT012 - a transaction ends where its block does

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import time, timezone
from typing import Any

import pytest
from tx_support import KNOWS, PERSON

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import (
    DanglingEdges,
    InvalidData,
    InvalidRequest,
    InvalidSchema,
    OmniGraphError,
    TransactionClosed,
    UnknownTable,
)

SURROGATE = "\ud800"
NO_TIMES = [None, "", b"x", True, -1, float("nan"), float("inf"), 2**80, []]
NO_KEYS = [None, 0, [], {}, b"node:Person"]


def changed(repo: Repository, timeout: Any) -> None:
    """Change something, patiently or not."""
    with repo.transaction(timeout=timeout) as tx:
        tx.upsert(PERSON, [{"id": "a", "age": 7}])


@pytest.mark.parametrize("timeout", NO_TIMES, ids=repr)
def test_a_timeout_is_a_number(repo: Repository, timeout: Any) -> None:
    """Every call that waits says so before it does anything."""
    run = repo.runs.begin()
    calls: list[Callable[[], object]] = [
        lambda: changed(repo, timeout),
        lambda: repo.publish([], timeout=timeout),
        lambda: repo.evolve(repo.snapshot().schema, timeout=timeout),
        lambda: run.publish(timeout=timeout),
    ]
    for call in calls:
        with pytest.raises(InvalidRequest, match="number of seconds"):
            call()
    assert run.refresh().status.value == "running"
    assert len(repo.log()) == 2


@pytest.mark.parametrize("key", NO_KEYS, ids=repr)
@pytest.mark.parametrize("method", ["append", "delete", "read", "scan", "stage", "expect"])
def test_a_table_key_is_text(repo: Repository, method: str, key: Any) -> None:
    """A key that is none is an unknown table, in transactions and in snapshots."""
    more: dict[str, list[Any]] = {"append": [[{"id": "x"}]], "delete": ["true"]}
    with pytest.raises(UnknownTable), repo.transaction() as tx:
        getattr(tx, method)(key, *more.get(method, []))
    with pytest.raises(UnknownTable):
        repo.snapshot().read(key)


@pytest.mark.parametrize(
    ("ids", "error"),
    [("a", InvalidRequest), (None, InvalidRequest), (7, InvalidRequest), ([None], InvalidData)],
)
def test_ids_are_several_texts(repo: Repository, ids: Any, error: type[OmniGraphError]) -> None:
    """A text is not taken for a list of letters."""
    with pytest.raises(error):
        repo.snapshot().find(PERSON, ids)


@pytest.mark.parametrize("text", [0, b"x", [], SURROGATE], ids=ascii)
def test_what_says_who_and_why_is_text(repo: Repository, text: Any) -> None:
    """Also where nothing is published now: in runs, and where there is nothing to do."""
    run = repo.runs.begin()
    same = repo.snapshot().schema
    calls: list[Callable[[], object]] = [
        lambda: repo.runs.begin(actor=text),
        lambda: repo.runs.begin(operation_hash=text),
        lambda: run.fail(text),
        lambda: repo.publish([], actor=text),
        lambda: repo.publish([], message=text),
        lambda: repo.evolve(same, actor=text),
        lambda: repo.evolve(same, message=text),
    ]
    for call in calls:
        with pytest.raises(InvalidRequest):
            call()
    assert [each.run_id for each in repo.runs.list("running")] == [run.run_id]


def test_retry_wants_a_function_and_a_number(repo: Repository) -> None:
    """It says so without beginning a transaction."""
    for odd in (None, 0, "x"):
        with pytest.raises(InvalidRequest):
            repo.retry(odd)  # type: ignore[arg-type, type-var]
    for attempts in (None, 1.5, "3", 0, True):
        with pytest.raises(InvalidRequest):
            repo.retry(lambda tx: tx, attempts=attempts)  # type: ignore[arg-type]


def test_a_moment_is_a_datetime_and_a_limit_may_be_huge(repo: Repository) -> None:
    """A time of day has a zone, too, and names no moment."""
    with pytest.raises(InvalidRequest):
        repo.snapshot(as_of=time(12, tzinfo=timezone.utc))  # type: ignore[arg-type]
    assert repo.log(limit=2**80) == repo.log()


@pytest.mark.parametrize("odd", [None, 7, b"x", "text", [7]], ids=repr)
def test_types_are_refused_as_they_are_made(odd: Any) -> None:
    """What is no list of types, or no mapping of properties, is an invalid schema."""
    calls: list[Callable[[], object]] = [
        lambda: NodeType("A", odd),
        lambda: EdgeType("K", "A", "A", odd),
        lambda: NodeType("A", {}, required=odd),
        lambda: GraphSchema(nodes=odd),
        lambda: GraphSchema(edges=odd),
    ]
    for call in calls:
        with pytest.raises(InvalidSchema):
            call()


def test_what_lives_in_this_process_is_not_pickled(repo: Repository) -> None:
    """The error says what to send instead."""
    for held in (repo, repo.snapshot(), repo.runs.begin()):
        with pytest.raises(InvalidRequest, match="send its"):
            pickle.dumps(held)


def test_a_transaction_that_ended_reads_nothing(repo: Repository) -> None:
    """Its view is over, like its writes."""
    with repo.transaction() as tx:
        tx.upsert(PERSON, [{"id": "a", "age": 7}])
    for read in (tx.read, tx.scan):
        with pytest.raises(TransactionClosed):
            read(PERSON)


def test_a_closed_handle_changes_nothing(repo: Repository) -> None:
    """Neither a transaction that was open, nor the branches; a snapshot can still be read."""
    repo.branches.create("side")
    branches, snapshot, before = repo.branches, repo.snapshot(), repo.transaction()
    with pytest.raises(TransactionClosed), repo.transaction() as tx:
        tx.append(PERSON, [{"id": "late"}])
        repo.close()
    calls: list[Callable[[], object]] = [
        before.__enter__,
        repo.__enter__,
        branches.list,
        lambda: branches.delete("side"),
    ]
    for call in calls:
        with pytest.raises(TransactionClosed, match="repository handle"):
            call()
    with Repository.open(repo.uri) as again:
        assert again.branches.get("side").name == "side"
        assert again.snapshot().read(PERSON) == snapshot.read(PERSON)
        assert again.snapshot().tables[KNOWS].row_count == snapshot.tables[KNOWS].row_count


def test_a_delete_of_very_many_ids(repo: Repository) -> None:
    """It takes those that are there, passes the others over, and is checked for edges."""
    many = [f"m{n}" for n in range(3000)]
    with repo.transaction() as tx:
        tx.append(PERSON, [{"id": each} for each in many])
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=[*many, *many, *(f"x{n}" for n in range(3000))])
    assert sorted(repo.snapshot().read(PERSON)["id"].to_pylist()) == ["a", "b"]
    with pytest.raises(DanglingEdges), repo.transaction() as tx:
        tx.delete(PERSON, ids=["a", *many])
