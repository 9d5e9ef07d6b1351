"""Publishes that happened although their author could not hear of it, because the store went."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyarrow as pa
import pytest
from forced_order import meanwhile

from omnigraph_l1 import Table
from omnigraph_l1.failpoints import handling
from omnigraph_l2 import CommitOutcome, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import CommitOutcomeUnknown, StorageError
from omnigraph_testing import Answer, CutReply, Effect, FaultyS3, Operation, Rule, Twice

VERSIONS = "*/__manifest/_versions/*"
LANDED: dict[str, Effect | None] = {
    "cut": CutReply(),
    # The second request is refused by what the first one did: as where a client sends again.
    "sent again": Twice("second"),
    "failed": Answer(500, applied=True),
    "compacted": None,
    "slow": None,
}


@pytest.mark.parametrize("how", LANDED)
def test_a_store_that_is_gone_right_after_the_publish(
    faulty_s3: FaultyS3, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """It is never told as something that did not happen, whatever the last word of the store."""
    effect = LANDED[how]
    schema = GraphSchema(nodes=[NodeType("A")])
    direct = faulty_s3.direct
    uri, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    with Repository.init(uri, schema, storage_options=options) as repo:
        for name in "xy":
            with repo.transaction() as tx:
                tx.append("node:A", [{"id": name}])
        landed: list[Operation] = []

        def at_publish(name: str) -> None:
            if name == "l2.publish.planned":
                if how == "slow":
                    monkeypatch.setattr("omnigraph_l2._commit.publisher._SLOW_SECONDS", 0.0)
                if how == "compacted":
                    location = f"{direct.uri('repo')}/__manifest"
                    Table.open(location, storage_options=direct.storage_options).compact()
                if effect is not None:
                    faulty_s3.inject(Rule(effect, "PUT", key=VERSIONS, times=1))
                faulty_s3.inject(Rule(Answer(403), predicate=afterwards))

        def afterwards(operation: Operation) -> bool:
            is_publish = operation.method == "PUT" and "/__manifest/_versions/" in operation.key
            if landed or is_publish:
                landed.append(operation)
            return len(landed) > 1

        tx = repo.transaction(timeout=2)
        with pytest.raises(CommitOutcomeUnknown) as unknown, handling(at_publish), tx:
            tx.append("node:A", [{"id": "mine"}])
        faulty_s3.clear()
        assert unknown.value.commit_id == tx.commit_id
        assert repo.commit(tx.commit_id) == repo.log()[0]


def test_a_store_that_answers_no_get_is_no_contention(
    faulty_s3: FaultyS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the reads of a store fail, the error names the store, not other writers or damage."""
    monkeypatch.setattr("omnigraph_l2._store.repository_root._LOOK_AGAIN_SECONDS", 600.0)
    options = {**faulty_s3.storage_options, "client_max_retries": "0"}
    schema = GraphSchema(nodes=[NodeType("A")])
    with Repository.init(faulty_s3.uri("repo"), schema, storage_options=options) as repo:
        with repo.transaction() as tx:
            tx.append("node:A", [{"id": "x"}])
        # What a writer leaves that died before it published.
        table = repo.snapshot()._open("node:A")
        table.append(pa.table({"id": ["left"]}, schema=table.schema))
        tx = repo.transaction(timeout=1.0)
        with pytest.raises(StorageError, match="GET"), tx:  # noqa: PT012 - the end of it raises
            tx.append("node:A", [{"id": "y"}])
            faulty_s3.inject(Rule(Answer(500), "GET"))
        with pytest.raises(StorageError):
            repo.cleanup()
        faulty_s3.clear()
        assert repo.snapshot().read("node:A")["id"].to_pylist() == ["x"]


def test_a_publish_that_is_visible_and_could_not_be_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fails once at that moment: it is found, and flushed, before it is acknowledged."""
    fsync, flushed = os.fsync, 0
    failing = False

    def flush(descriptor: int) -> None:
        nonlocal failing, flushed
        if failing:
            failing = False
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flushed += 1
        fsync(descriptor)

    def at_publish(name: str) -> None:
        nonlocal failing, flushed
        if name == "l1.merge.visible":
            failing, flushed = True, 0

    with Repository.init(tmp_path / "repo", GraphSchema(nodes=[NodeType("A")])) as repo:
        monkeypatch.setattr(os, "fsync", flush)
        with handling(at_publish), repo.transaction() as tx:
            tx.append("node:A", [{"id": "a"}])
        assert not failing
        assert flushed
        assert repo.log()[0] == tx.commit
        assert repo.snapshot().read("node:A")["id"].to_pylist() == ["a"]


def test_a_publish_whose_second_attempt_is_refused(faulty_s3: FaultyS3) -> None:
    """The first one is still under way: it is unknown, not undone, and then it lands."""
    uri, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    with Repository.init(uri, GraphSchema(nodes=[NodeType("A")]), options) as repo:
        with repo.transaction() as tx:
            tx.append("node:A", [{"id": "a"}])
        with faulty_s3.hold("PUT", key=VERSIONS, cut=True) as held:
            faulty_s3.inject(Rule(Answer(403), "PUT", key=VERSIONS, after=1))
            tx = repo.transaction()
            with pytest.raises(CommitOutcomeUnknown), tx:
                tx.append("node:A", [{"id": "b"}])
            assert tx.outcome is CommitOutcome.UNKNOWN
            faulty_s3.clear()
            held.release()
        assert faulty_s3.wait_until_idle()
        assert tx.outcome is CommitOutcome.COMMITTED
        assert sorted(repo.snapshot().read("node:A")["id"].to_pylist()) == ["a", "b"]


def test_a_merge_whose_source_is_deleted_before_its_outcome_is_known(faulty_s3: FaultyS3) -> None:
    """That the source is gone says nothing of the merge."""
    uri, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    with (
        Repository.init(uri, GraphSchema(nodes=[NodeType("A")]), options) as repo,
        Repository.open(uri, options) as other,
    ):
        repo.branches.create("side")
        with repo.transaction("side") as tx:
            tx.append("node:A", [{"id": "a"}])
        with faulty_s3.hold("PUT", key=VERSIONS, cut=True) as held:
            for method, key in (("GET", VERSIONS), ("LIST", "*/__manifest/_versions*")):
                rule = Rule(Answer(403), method, key=key, predicate=lambda _: bool(held.operations))
                faulty_s3.inject(rule)
            with (
                meanwhile("l2.publish.planned", lambda: other.branches.delete("side")),
                pytest.raises(CommitOutcomeUnknown),
            ):
                repo.branches.merge("side", timeout=5)
            faulty_s3.clear()
            held.release()
        assert faulty_s3.wait_until_idle()
        assert other.snapshot().read("node:A")["id"].to_pylist() == ["a"]


@pytest.mark.parametrize("after", [3, 4, 5])
def test_a_compaction_whose_reply_is_lost(
    faulty_s3: FaultyS3, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """The commit does without it: nothing but the place of its rows would be another."""
    monkeypatch.setattr("omnigraph_l2._store.exact_commit._SMALL_FRAGMENTS", 2)
    schema = GraphSchema(nodes=[NodeType("A")])
    options = faulty_s3.storage_options
    with Repository.init(faulty_s3.uri("repo"), schema, storage_options=options) as repo:
        with repo.transaction() as tx:
            tx.append("node:A", [{"id": "first"}])
        faulty_s3.inject(Rule(CutReply(), "PUT", key="*/nodes/*", after=after))
        with repo.transaction(timeout=5) as tx:
            tx.append("node:A", [{"id": "second"}])
        faulty_s3.clear()
        assert tx.outcome is CommitOutcome.COMMITTED
        assert sorted(repo.snapshot().read("node:A")["id"].to_pylist()) == ["first", "second"]
        assert repo.verify().ok


def test_a_type_that_comes_back_on_a_store_whose_replies_are_lost(faulty_s3: FaultyS3) -> None:
    """Its empty version may be there, and is never published: so the error says."""
    both = GraphSchema(nodes=[NodeType("A"), NodeType("B")])
    options = faulty_s3.storage_options
    with Repository.init(faulty_s3.uri("repo"), both, storage_options=options) as repo:
        repo.evolve(GraphSchema(nodes=[NodeType("A")]))
        faulty_s3.inject(Rule(CutReply(), "PUT", key="*/nodes/*"))
        with pytest.raises(StorageError, match="Nothing was published"):
            repo.evolve(both, timeout=1)
        faulty_s3.clear()
        assert list(repo.snapshot().tables) == ["node:A"]
        repo.evolve(both)
        assert repo.verify().ok
