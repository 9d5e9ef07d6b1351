"""Writers that race on S3, in an order that a gateway forces; and real processes without one."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import lance
import pytest
from lance import LanceDataset, LanceOperation

from omnigraph_testing import FaultyS3, S3Store

from ._support import (
    KEYED,
    TOO_MANY_WRITERS,
    Failure,
    again,
    append,
    commit,
    create,
    finish,
    head,
    manifest_name,
    outcome,
    rows,
    spawn,
    staged,
    upsert,
    versions,
)


@pytest.fixture
def direct(s3_store: S3Store) -> LanceDataset:
    """Version 1 on S3, reached without the gateway."""
    options = s3_store.storage_options
    return create(s3_store.uri("t"), "a", schema=KEYED, options=options)


@pytest.fixture
def slow(direct: LanceDataset, faulty_s3: FaultyS3) -> LanceDataset:
    """The same, reached through the gateway, which holds it up."""
    return lance.dataset(direct.uri, storage_options=faulty_s3.storage_options)


def test_of_two_publishers_of_one_key_one_is_refused(
    direct: LanceDataset, slow: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """Lance commits race correctly: a merge-insert whose version somebody else has put meanwhile
    with the same key is refused.
    """
    with ThreadPoolExecutor(1) as pool, faulty_s3.hold("PUT", key=f"*{manifest_name(2)}") as held:
        waiting = pool.submit(outcome, lambda: upsert(slow, "k"))
        held.wait()
        upsert(direct, "k")
        held.release()
        lost = waiting.result(20)
    assert isinstance(lost, Failure)
    lost.require("OSError", TOO_MANY_WRITERS)
    assert head(direct) == (2, "a k")


def test_a_slow_publisher_is_written_into_the_past(
    direct: LanceDataset, slow: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """A publisher whose base version's successors were cleaned away while its PUT was on the way
    … its version is written into the past and its rows are nowhere.
    """
    with ThreadPoolExecutor(1) as pool, faulty_s3.hold("PUT", key=f"*{manifest_name(2)}") as held:
        waiting = pool.submit(outcome, lambda: upsert(slow, "k"))
        held.wait()
        for name in ("x", "y", "z"):
            upsert(again(direct), name)
        again(direct).cleanup_old_versions(older_than=timedelta(0))
        held.release()
        assert waiting.result(20) is None, "it used to be told that it succeeded"
    assert slow.version == 2
    assert head(direct) == (4, "a x y z")
    assert versions(direct) == [2, 4]


def test_a_commit_lock_replaces_the_atomic_put(
    direct: LanceDataset, slow: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """commit_lock= *replaces* the atomic put: by itself it is no protection between processes. A
    version that was written between the look and the put is overwritten: its rows are lost.
    """
    operation = LanceOperation.Append(staged(slow, "c"))
    with ThreadPoolExecutor(1) as pool, faulty_s3.hold("PUT", key=f"*{manifest_name(2)}") as held:
        waiting = pool.submit(
            outcome, lambda: commit(slow, operation, commit_lock=lambda _: nullcontext())
        )
        held.wait()
        assert append(direct, "lost").version == 2
        held.release()
        assert waiting.result(20) is None, "it used to be told that it succeeded"
    assert head(direct) == (2, "a c")


def test_of_two_creators_of_a_branch_the_loser_sets_its_head(
    direct: LanceDataset, slow: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """Processes that create one branch name from different versions at the same time: one is
    told that it won, and the branch's head is not the version that the winner named. The loser
    is told OSError "Ref conflict error: branch x already exists".
    """
    append(direct, "b")
    slow.checkout_latest()
    at_two = f"*tree/x/_versions/{manifest_name(2)}"
    with ThreadPoolExecutor(1) as pool, faulty_s3.hold("PUT", key=at_two) as held:
        waiting = pool.submit(outcome, lambda: slow.create_branch("x", 2))
        held.wait()
        assert again(direct).create_branch("x", 1).version == 1
        held.release()
        lost = waiting.result(20)
    assert isinstance(lost, Failure)
    lost.require("OSError", "Ref conflict error: branch x already exists")
    assert direct.branches.list()["x"]["parent_version"] == 1
    opened = again(direct).checkout_version(("x", None))
    assert (opened.version, rows(opened)) == (2, "a b"), "the loser's version"


def test_of_two_creators_from_one_version_the_second_finds_a_dataset(
    direct: LanceDataset, slow: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """From the same version, the loser is told OSError "Dataset already exists: …/tree/x"."""
    at_one = f"*tree/x/_versions/{manifest_name(1)}"
    with ThreadPoolExecutor(1) as pool, faulty_s3.hold("PUT", key=at_one) as held:
        waiting = pool.submit(outcome, lambda: slow.create_branch("x", 1))
        held.wait()
        again(direct).create_branch("x", 1)
        held.release()
        lost = waiting.result(20)
    assert isinstance(lost, Failure)
    lost.require("OSError", "Dataset already exists: ", contains=["/tree/x"])
    assert rows(again(direct).checkout_version(("x", None))) == "a"


@pytest.mark.parametrize("verb", ["HEAD", "GET"])
def test_listing_while_a_branch_is_deleted_is_a_raw_not_found(
    verb: str, direct: LanceDataset, slow: LanceDataset, faulty_s3: FaultyS3
) -> None:
    """Listing branches while one is deleted can raise a raw not-found: ValueError "Not found:
    …/_refs/branches/x.json".
    """
    direct.create_branch("x")
    with (
        ThreadPoolExecutor(1) as pool,
        faulty_s3.hold(verb, key="*_refs/branches/x.json") as held,
    ):
        waiting = pool.submit(outcome, slow.branches.list)
        held.wait()
        direct.branches.delete("x")
        held.release()
        lost = waiting.result(20)
    assert isinstance(lost, Failure)
    lost.require("ValueError", "Not found: ", contains=["_refs/branches/x.json"])
    assert slow.branches.list() == {}


RACE = """
import json
uri, options, name = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
ds = lance.dataset(uri, storage_options=options)
print("ready", flush=True)
sys.stdin.readline()
failed = outcome(lambda: upsert(ds, "k", x=int(name)))
print(json.dumps([int(name), failed and failed.text]))
"""


@pytest.mark.integration
@pytest.mark.parametrize("where", ["local", "s3"])
def test_of_four_processes_one_wins(
    where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Four processes that publish one key from one version: one winner, on local disk and on S3
    (weed honours the conditions that Lance commits with).
    """
    options: dict[str, str] = {}
    uri = str(tmp_path / "t")
    if where == "s3":
        store: S3Store = request.getfixturevalue("s3_store")
        uri, options = store.uri("t"), store.storage_options
    dataset = create(uri, "a", schema=KEYED, options=options)
    racers = [spawn(RACE, uri, json.dumps(options), number) for number in range(10, 14)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    told = [finish(racer) for racer in racers]
    winners = [name for name, text in told if text is None]
    assert len(winners) == 1, told
    assert all(text.startswith(TOO_MANY_WRITERS) for _, text in told if text is not None)
    assert head(dataset) == (2, "a k")
    assert again(dataset).to_table(filter="id = 'k'")["x"].to_pylist() == winners
