"""A store that fails, for real: every request through a gateway, Lance's own client in front."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest
from people import SCHEMA, ids, rows

from omnigraph_l1 import Storage, Table, list_objects, remove_object, unique_branch_name
from omnigraph_l1.errors import InvalidRequest, OutcomeUnknown, StoreUnavailable
from omnigraph_testing import Answer, CutReply, CutRequest, Effect, FaultyS3, Refuse, Rule

VERSION_FILES = "*/_versions/*.manifest"


@pytest.fixture
def far(faulty_s3: FaultyS3) -> Table:
    """A table with a row, on a store that can fail; retries are few, to be quick."""
    options = {**faulty_s3.storage_options, "client_max_retries": "2", "client_retry_timeout": "5"}
    return (
        Table.create(Storage.resolve(faulty_s3.uri("t"), options), SCHEMA).append(rows("a")).table
    )


def test_requests_of_each_operation(far: Table, faulty_s3: FaultyS3) -> None:
    """Opening costs 2 requests, refreshing 1, an append 4, the same on a branch plus one look."""
    storage = far._pinned.storage
    with faulty_s3.expect(max_requests=2):
        Table.open(storage)
    with faulty_s3.expect(max_requests=2):
        Table.open(storage, version=1)
    with faulty_s3.expect(max_requests=1):
        far.refresh()
    with faulty_s3.expect(max_requests=4):
        far = far.append(rows("b")).table
    with faulty_s3.expect(max_requests=1):
        far.refresh()
    branch = far.fork("side.1")
    with faulty_s3.expect(max_requests=5):
        branch.append(rows("c"))
    with faulty_s3.expect(max_requests=5):
        Table.open(storage, branch="side.1")


def test_requests_of_changes_without_data(far: Table, faulty_s3: FaultyS3) -> None:
    """Each costs what a commit costs, less the data; one tells whether a branch is there."""
    far.fork("side.1")
    with faulty_s3.expect(max_requests=1):
        assert far.has_branch("side.1")
    with faulty_s3.expect(max_requests=1):
        assert not far.has_branch("side.2")
    with faulty_s3.expect(max_requests=0):
        assert dict(far.config) == {}
    with faulty_s3.expect(max_requests=3):
        far = far.add_columns([pa.field("nick", pa.string())]).table
    with faulty_s3.expect(max_requests=3):
        far = far.drop_columns(["nick"]).table
    with faulty_s3.expect(max_requests=3):
        far = far.annotate(schema_metadata={"a": "1"}).table
    parts = [far.stage_append(rows(f"n{number}")) for number in range(5)]
    with faulty_s3.expect(max_requests=3):
        far = far.commit(far.stage_together(parts)).table
    with faulty_s3.expect(max_requests=3):
        far.replace_schema(far.schema)


def test_requests_do_not_grow_with_history(far: Table, faulty_s3: FaultyS3) -> None:
    """After sixty versions an open, a refresh and an append cost what they cost before."""
    for number in range(60):
        far = far.append(rows(f"n{number}")).table
    storage = far._pinned.storage
    with faulty_s3.expect(max_requests=2):
        Table.open(storage)
    with faulty_s3.expect(max_requests=1):
        far.refresh()
    with faulty_s3.expect(max_requests=4):
        far.append(rows("last"))


@pytest.mark.parametrize(
    "effect", [CutReply(), Answer(500), Answer(503), Answer(500, applied=True)], ids=str
)
def test_one_fault_at_the_version_file_is_got_over(
    far: Table, faulty_s3: FaultyS3, effect: Effect
) -> None:
    """A reply that is lost, or an error though it was applied: one commit, with one's row once."""
    faulty_s3.inject(Rule(effect, "PUT", key=VERSION_FILES, times=1))
    commit = far.append(rows("mine"))
    assert commit.follows_base
    assert ids(far.refresh().read()) == ["a", "mine"]
    assert far.refresh().version == far.version + 1


def test_a_commit_whose_every_reply_is_lost_is_found_by_its_id(
    far: Table, faulty_s3: FaultyS3
) -> None:
    """The write happened, the client never heard: its own id in the new version tells."""
    faulty_s3.inject(Rule(CutReply(), "PUT", key=VERSION_FILES))
    commit = far.append(rows("mine"))
    faulty_s3.clear()
    assert ids(commit.table.read()) == ["a", "mine"]
    assert far.refresh().version == commit.version


def test_a_change_without_data_whose_every_reply_is_lost_is_found(
    far: Table, faulty_s3: FaultyS3
) -> None:
    """Its id stands in the new version, like that of any other commit."""
    faulty_s3.inject(Rule(CutReply(), "PUT", key=VERSION_FILES))
    added = far.add_columns([pa.field("nick", pa.string())])
    dropped = added.table.drop_columns(["nick"])
    stamped = dropped.table.annotate(schema_metadata={"a": "1"})
    replaced = stamped.table.replace_schema(far.schema)
    faulty_s3.clear()
    assert all(commit.follows_base for commit in (added, dropped, stamped, replaced))
    assert far.refresh().version == replaced.version == far.version + 4


@pytest.mark.parametrize("effect", [CutRequest(), Refuse()], ids=str)
def test_a_commit_that_was_never_made_is_told_as_unknown(
    far: Table, faulty_s3: FaultyS3, effect: Effect
) -> None:
    """The PUT may still land: nobody guesses, the error names the id, the staged files stay."""
    staged = far.stage_append(rows("mine"))
    faulty_s3.inject(Rule(effect, "PUT", key=VERSION_FILES, times=1))
    with pytest.raises(OutcomeUnknown) as caught:
        far.commit(staged, transaction_id="my-own-id")
    faulty_s3.clear()
    assert caught.value.write_id == "my-own-id"
    assert ids(far.refresh().read()) == ["a"]
    assert ids(far.commit(staged).table.read()) == ["a", "mine"]


def test_a_put_that_lands_after_it_was_given_up(far: Table, faulty_s3: FaultyS3) -> None:
    """It is told as unknown, and found by its id when it has landed."""
    staged = far.stage_append(rows("mine"))
    held = faulty_s3.hold("PUT", key=VERSION_FILES, cut=True, times=None)
    with pytest.raises(OutcomeUnknown) as caught:
        far.commit(staged)
    held.release()
    faulty_s3.clear()
    deadline = time.monotonic() + 20
    while (landed := far.refresh()) is far:
        assert time.monotonic() < deadline, "what was held has not landed"
    assert ids(landed.read()) == ["a", "mine"]
    record = landed.dataset.read_transaction(landed.version)
    assert record.uuid == caught.value.write_id


def test_the_store_goes_down_and_comes_back(far: Table, faulty_s3: FaultyS3) -> None:
    """While it is down each call says so; afterwards the same handle works."""
    with faulty_s3.down():
        for attempt in (far.refresh, lambda: far.append(rows("b")), far.read):
            with pytest.raises(StoreUnavailable):
                attempt()
    assert ids(far.append(rows("b")).table.read()) == ["a", "b"]


def test_a_lost_reply_of_a_merge_is_not_guessed(far: Table, faulty_s3: FaultyS3) -> None:
    """Where Lance can tell, it lands once; where nobody can, the error names the caller's id."""
    faulty_s3.inject(Rule(CutReply(), "PUT", key=VERSION_FILES, times=1))
    assert far.cas_merge(rows("key"), key="id", write_id="w-1").follows_base
    faulty_s3.clear()
    assert ids(far.refresh().read()) == ["a", "key"]
    faulty_s3.inject(Rule(CutRequest(), "PUT", key=VERSION_FILES))
    with pytest.raises(OutcomeUnknown) as caught:
        far.refresh().cas_merge(rows("lost"), key="id", write_id="w-2")
    assert caught.value.write_id == "w-2"
    faulty_s3.clear()
    assert ids(far.refresh().read()) == ["a", "key"]


def test_errors_everywhere_lose_nothing(far: Table, faulty_s3: FaultyS3) -> None:
    """With a tenth of all requests failing, each acknowledged row is there once."""
    faulty_s3.inject(Rule(Answer(503), probability=0.1, seed=3))
    acknowledged, table = ["a"], far
    for number in range(15):
        try:
            table = table.append(rows(f"n{number}")).table
        except StoreUnavailable:
            continue
        acknowledged.append(f"n{number}")
    faulty_s3.clear()
    assert ids(far.refresh().read()) == sorted(acknowledged)


@pytest.mark.parametrize("applied", [True, False])
def test_a_lost_reply_to_a_fork_is_recognised_by_its_fresh_name(
    far: Table,
    faulty_s3: FaultyS3,
    applied: bool,  # noqa: FBT001
) -> None:
    """Lance says of one's own branch that it exists; a name that only we can have made tells."""
    name = unique_branch_name("side")
    effect: Effect = CutReply() if applied else Answer(500)
    faulty_s3.inject(Rule(effect, "PUT", key="*/_refs/branches/*", times=1))
    branch = far.fork(name, fresh=True)
    faulty_s3.clear()
    assert branch.version == far.version
    assert ids(branch.append(rows("b")).table.read()) == ["a", "b"]
    assert list(far.branches()) == [name]


def test_a_fork_that_was_never_made_is_told_as_unknown(far: Table, faulty_s3: FaultyS3) -> None:
    """The name is in the error; a fresh one works."""
    name = unique_branch_name("side")
    faulty_s3.inject(Rule(CutRequest(), "PUT", key="*/_refs/branches/*"))
    with pytest.raises(OutcomeUnknown) as caught:
        far.fork(name, fresh=True)
    faulty_s3.clear()
    assert caught.value.write_id == name
    assert far.branches() == {}
    assert far.fork(unique_branch_name("side"), fresh=True).version == far.version


@pytest.mark.parametrize("branch", [None, "side.1"])
def test_staged_files_that_are_gone(far: Table, faulty_s3: FaultyS3, branch: str | None) -> None:
    """Nothing else looks for them before the commit: that costs a request for each."""
    table = far if branch is None else far.fork(branch)
    staged = table.stage_written([table.write(rows("b"))])
    with faulty_s3.expect(max_requests=1):
        table.check_files(staged)
    (name,) = [path.name for path in staged.new_files()]
    storage = table._pinned.storage
    (found,) = [each for each in list_objects(storage) if each.name.endswith(name)]
    remove_object(storage, found.name)
    with pytest.raises(InvalidRequest, match="is gone: it was staged for"):
        table.check_files(staged)
