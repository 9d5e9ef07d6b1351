"""Requests that come late, finishers beside each other, and what all of it costs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from undecided import SCHEMA, ids, rows

from omnigraph_l1 import Storage, Table
from omnigraph_l1.errors import AccessDenied, CommitConflict, OutcomeUnknown
from omnigraph_testing import Answer, FaultyS3, Rule, S3Store, start_faulty_s3

COPIES = "*/_versions/*.manifest"


def test_a_writer_that_wakes_up_late(base: Table, ours: Storage, careless: FaultyS3) -> None:
    """Another has put its file in place and gone on: its copy changes nothing, and it is done."""
    with (
        ThreadPoolExecutor(1) as pool,
        careless.hold(("COPY", "PUT"), key=COPIES) as held,
    ):
        slow = pool.submit(base.append, rows("slow"))
        held.wait()
        table = Table.open(ours).append(rows("next")).table
        table = table.append(rows("last")).table
        assert ids(table) == ["a", "b", "last", "next", "slow"]
        held.release()
        done = slow.result()
    assert (done.version, done.follows_base) == (base.version + 1, True)
    assert ids(done.table) == ["a", "b", "slow"]
    assert ids(Table.open(ours)) == ["a", "b", "last", "next", "slow"]


def test_two_finish_at_once(base: Table, ours: Storage, careless: FaultyS3) -> None:
    """Both readers see the version, and so does its writer."""
    with (
        ThreadPoolExecutor(3) as pool,
        careless.hold(("COPY", "PUT"), key=COPIES, times=3) as held,
    ):
        slow = pool.submit(base.append, rows("slow"))
        held.wait()
        readers = [pool.submit(Table.open, ours) for _ in range(2)]
        held.wait(count=3)
        held.release()
        assert slow.result().version == base.version + 1
        assert [ids(each.result()) for each in readers] == [["a", "b", "slow"]] * 2
    assert ids(base.refresh().append(rows("z")).table) == ["a", "b", "slow", "z"]


def test_who_cannot_finish_is_refused(base: Table, ours: Storage, careless: FaultyS3) -> None:
    """A reader that may not write is told so, and sees nothing that he could not see again."""
    refused = careless.inject(Rule(Answer(403), "COPY", key=COPIES))
    with pytest.raises(OutcomeUnknown):
        base.append(rows("k"))
    with pytest.raises(AccessDenied):
        Table.open(ours)
    with pytest.raises(AccessDenied):
        base.refresh()
    assert ids(base) == ["a", "b"]
    refused.remove()
    assert ids(base.refresh()) == ["a", "b", "k"]


def test_losers_leave_no_staged_file(base: Table, careless: FaultyS3) -> None:
    """One for each version, however many wanted it."""
    other = base.refresh()
    base.merge_exclusively(rows("k"), key="id", write_id="1")
    for number in range(3):
        with pytest.raises(CommitConflict):
            other.merge_exclusively(rows("k"), key="id", write_id=f"other {number}")
    newest = base.refresh()
    staged = [
        entry["path"]
        for page in careless.obstore("a table/_versions").list()
        for entry in page
        if ".manifest-" in entry["path"]
    ]
    assert len(staged) == newest.version


def test_requests_do_not_grow(careless: FaultyS3, s3_store: S3Store) -> None:
    """A commit, a refresh and an opening ask as often after many versions as after few."""
    with start_faulty_s3(s3_store) as decider:
        options = {
            **careless.storage_options,
            "version_store": decider.uri("decides"),
            "version_store.aws_endpoint": decider.endpoint,
        }
        storage = Storage.resolve(careless.uri("a table"), options)

        def cost(table: Table) -> tuple[Table, int, int]:
            careless.forget_requests()
            decider.forget_requests()
            done = table.append(rows("x")).table
            Table.open(storage)
            done.refresh()
            return done, len(careless.requests), len(decider.requests)

        table = Table.create(storage, SCHEMA).append(rows("x")).table
        table, *few = cost(table)
        for _ in range(30):
            table = table.append(rows("x")).table
        _, *many = cost(table)
        assert many == few
        # A commit looks for the newest, reserves one, and says that it is in place; an opening
        # looks twice and reads, a refresh looks and reads.
        assert many[1] <= 8
