"""Requests whose reply is lost or late, on S3: what Lance finds out itself, and what it cannot."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import lance
import pytest
from lance import LanceDataset, LanceOperation

from omnigraph_testing import CutReply, FaultyS3, Rule, S3Store

from ._support import (
    KEYED,
    Failure,
    append,
    commit,
    create,
    failure,
    head,
    manifest_name,
    outcome,
    staged,
    upsert,
)


@pytest.fixture
def direct(s3_store: S3Store) -> LanceDataset:
    """Version 1 on S3, reached without the gateway."""
    options = s3_store.storage_options
    return create(s3_store.uri("t"), "a", "b", schema=KEYED, options=options)


@pytest.fixture
def remote(direct: LanceDataset, faulty_s3: FaultyS3) -> LanceDataset:
    """The same, reached through the gateway."""
    return lance.dataset(direct.uri, storage_options=faulty_s3.storage_options)


def test_a_lost_reply_to_a_version_is_told_apart(
    remote: LanceDataset, direct: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """A lost reply to the PUT of a version file is told apart by Lance itself: it sends it again,
    is refused (412), reads the version and finds its own; for an append …
    """
    operation = LanceOperation.Append(staged(remote, "c"))
    faulty_s3.inject(Rule(CutReply(by="close"), "PUT", key=f"*{manifest_name(2)}", times=1))
    assert commit(remote, operation).version == 2
    assert head(direct) == (2, "a b c")
    puts = [one.status for one in faulty_s3.requests if manifest_name(2) in one.key]
    assert puts[:2] == [None, 412]


def test_a_lost_reply_to_a_merge_is_told_apart(
    remote: LanceDataset, direct: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """… and for a merge-insert."""
    faulty_s3.inject(Rule(CutReply(by="close"), "PUT", key=f"*{manifest_name(2)}", times=1))
    upsert(remote, "k")
    assert remote.version == 2
    assert head(direct) == (2, "a b k")


def test_a_put_that_was_given_up_can_land_later(direct: LanceDataset, faulty_s3: FaultyS3) -> None:
    """A PUT that the client gave up on can land seconds later: the writer is told OSError
    "LanceError(IO): Generic S3 error: Error performing PUT … error sending request", nobody sees
    a version, and then it is there.
    """
    impatient = {**faulty_s3.storage_options, "timeout": "1s"}
    slow = lance.dataset(direct.uri, storage_options=impatient)
    operation = LanceOperation.Append(staged(slow, "c"))
    with faulty_s3.hold("PUT", key=f"*{manifest_name(2)}") as held:
        failure(lambda: commit(slow, operation)).require(
            "OSError",
            "LanceError(IO): Generic S3 error: Error performing PUT ",
            contains=[manifest_name(2), "HTTP error: error sending request"],
        )
        assert head(direct) == (1, "a b")
        held.release()
        assert faulty_s3.wait_until_idle()
    assert head(direct) == (2, "a b c")


def test_a_lost_reply_to_a_new_branch_says_that_it_exists(
    remote: LanceDataset, direct: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """For refs nobody tells it apart: a branch whose last reply is lost "already exists"."""
    faulty_s3.inject(Rule(CutReply(by="close"), "PUT", key="*_refs/branches/x.json", times=1))
    failure(lambda: remote.create_branch("x")).require(
        "OSError", "Ref conflict error: branch x already exists"
    )
    assert list(direct.branches.list()) == ["x"]


def test_a_lost_reply_to_a_new_tag_says_that_it_exists(
    remote: LanceDataset, direct: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """… and so does a tag."""
    faulty_s3.inject(Rule(CutReply(by="close"), "PUT", key="*_refs/tags/x.json", times=1))
    failure(lambda: remote.tags.create("x", 1)).require(
        "ValueError", "Ref conflict error: tag x already exists"
    )
    assert list(direct.tags.list()) == ["x"]


def test_for_objects_of_our_own_nobody_tells_it_apart(faulty_s3: FaultyS3) -> None:
    """For objects that we write ourselves, nobody does it for us: obstore sends a creation again
    and reports that the object exists, which is its own.
    """
    faulty_s3.inject(Rule(CutReply(by="close"), "PUT", key="*mine", times=1))
    objects = faulty_s3.obstore()
    failed = failure(lambda: objects.put("mine", b"1", mode="create"))
    assert failed.type == "AlreadyExistsError", failed
    assert bytes(objects.get("mine").bytes()) == b"1"


def test_a_swap_whose_reply_is_lost_conflicts_with_itself(faulty_s3: FaultyS3) -> None:
    """A compare-and-swap whose reply is lost is sent again and meets its own new tag."""
    objects = faulty_s3.obstore()
    tag = objects.put("mine", b"1")["e_tag"]
    faulty_s3.inject(Rule(CutReply(by="close"), "PUT", key="*mine", times=1))
    failed = failure(lambda: objects.put("mine", b"2", mode={"e_tag": tag}))
    assert failed.type == "PreconditionError", failed
    assert bytes(objects.get("mine").bytes()) == b"2"


def test_a_request_is_sent_again_before_its_effect(
    direct: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """A reply that is lost on a read is no matter: the GET is sent again."""
    faulty_s3.inject(Rule(CutReply(by="close"), "GET", key=f"*{manifest_name(1)}", times=1))
    opened = lance.dataset(direct.uri, storage_options=faulty_s3.storage_options)
    assert opened.version == 1
    gets = [
        one for one in faulty_s3.requests if one.method == "GET" and manifest_name(1) in one.key
    ]
    assert len(gets) == 2


def test_two_clients_with_one_place_are_not_serialized(
    direct: LanceDataset, remote: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """A held commit does not hold up another client: no lock is left behind or waited for."""
    operation = LanceOperation.Append(staged(remote, "c"))
    with ThreadPoolExecutor(1) as pool, faulty_s3.hold("PUT", key=f"*{manifest_name(2)}") as held:
        slow = pool.submit(outcome, lambda: commit(remote, operation))
        held.wait()
        assert append(direct, "d").version == 2
        held.release()
        lost = slow.result(20)
    assert isinstance(lost, Failure)
    lost.require("CommitConflictError", "Commit conflict for version 2: Failed to commit")
    assert head(direct) == (2, "a b d")
