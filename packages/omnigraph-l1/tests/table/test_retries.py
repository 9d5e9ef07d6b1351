"""What is tried again, by whom, and how a failed write is told: each attempt is counted."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from lance import LanceDataset
from people import SCHEMA, ids, rows

from omnigraph_l1 import Resolution, Storage, Table, deadlines
from omnigraph_l1.errors import (
    AccessDenied,
    CommitConflict,
    InvalidRequest,
    L1Error,
    OutcomeUnknown,
    StorageError,
    StorageFull,
    StoreUnavailable,
)
from omnigraph_testing import Answer, FaultyS3, Rule

VERSION_FILES = "*/_versions/*.manifest"


@pytest.fixture
def far(faulty_s3: FaultyS3) -> Table:
    """A table with a row, on a store that can say untrue things."""
    options = {**faulty_s3.storage_options, "client_max_retries": "0"}
    return (
        Table.create(Storage.resolve(faulty_s3.uri("t"), options), SCHEMA).append(rows("a")).table
    )


def attempts(faulty_s3: FaultyS3, act: Callable[[], object]) -> int:
    """Count the PUTs of version files that the act takes."""
    before = len(faulty_s3.requests)
    act()
    sent = faulty_s3.requests[before:]
    return sum(one.method == "PUT" and "/_versions/" in one.key for one in sent)


@pytest.mark.integration
def test_a_commit_is_attempted_once(far: Table, faulty_s3: FaultyS3) -> None:
    """Lance would try twenty times, with long pauses, and put it on top of anything."""
    staged = far.stage_append(rows("b"))
    faulty_s3.inject(Rule(Answer(412), "PUT", key=VERSION_FILES))

    def refused() -> None:
        with pytest.raises(CommitConflict) as caught:
            far.commit(staged)
        assert caught.value.resolution is Resolution.RETRYABLE

    assert attempts(faulty_s3, refused) == 1
    faulty_s3.clear()
    assert far.commit(staged).follows_base


@pytest.mark.integration
def test_a_restore_is_attempted_until_it_lands(far: Table, faulty_s3: FaultyS3) -> None:
    """By us, with short pauses and one id: others that come first do not change its result."""
    faulty_s3.inject(Rule(Answer(412), "PUT", key=VERSION_FILES, times=4))
    assert attempts(faulty_s3, lambda: far.restore(1)) == 5
    head = far.refresh()
    assert head.version == far.version + 1
    assert head.count() == 0


@pytest.mark.integration
def test_a_restore_is_not_attempted_for_ever(
    far: Table, faulty_s3: FaultyS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When its patience is at an end, the conflict is told; nothing has landed."""
    clock = itertools.count(step=5.0)
    monkeypatch.setattr(deadlines, "_now", lambda: next(clock))
    faulty_s3.inject(Rule(Answer(412), "PUT", key=VERSION_FILES, times=100))

    def refused() -> None:
        with pytest.raises(CommitConflict):
            far.restore(1)

    assert attempts(faulty_s3, refused) > 2
    faulty_s3.clear()
    assert far.refresh() is far


@pytest.mark.integration
def test_a_restore_that_fails_otherwise_is_not_attempted_again(
    far: Table, faulty_s3: FaultyS3
) -> None:
    """Only a conflict is a reason to."""
    faulty_s3.inject(Rule(Answer(403), "PUT", key=VERSION_FILES))

    def refused() -> None:
        with pytest.raises(AccessDenied):
            far.restore(1)

    assert attempts(faulty_s3, refused) == 1


SAID = {
    "403 Forbidden": (AccessDenied, AccessDenied),
    "(os error 28)": (StorageFull, StorageFull),
    "Invalid user input: x": (InvalidRequest, InvalidRequest),
    "error sending request": (OutcomeUnknown, StoreUnavailable),
    "status code: 500": (OutcomeUnknown, StoreUnavailable),
    "something that nobody knows": (OutcomeUnknown, StorageError),
}


def failed_append(table: Table, said: str) -> Exception:
    """Append where Lance says this of its commit, and return the error."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(said)

    staged = table.stage_append(rows("b"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LanceDataset, "commit", refuse)
        with pytest.raises(L1Error) as caught:
            table.commit(staged, transaction_id="my-own-id")
    return caught.value


@pytest.mark.integration
@pytest.mark.parametrize("said", SAID)
def test_a_failed_write_is_known_to_have_failed_or_is_unknown(
    far: Table, local: Table, said: str
) -> None:
    """A refusal wrote nothing, wherever it was; silence of a store says nothing at all."""
    in_a_store, on_disk = SAID[said]
    error = failed_append(far, said)
    assert type(error) is in_a_store
    if isinstance(error, OutcomeUnknown):
        assert error.write_id == "my-own-id"
        assert said in error.detail
    assert type(failed_append(local, said)) is on_disk


@pytest.mark.integration
@pytest.mark.parametrize(("status", "expected"), [(403, AccessDenied), (500, OutcomeUnknown)])
def test_the_same_through_each_way_of_writing(
    far: Table, faulty_s3: FaultyS3, status: int, expected: type[Exception]
) -> None:
    """Commits, merges, compactions, indexes, forks and tags."""
    far = far.append(rows("b")).table
    writes: list[Callable[[], object]] = [
        lambda: far.append(rows("c")),
        lambda: far.cas_merge(rows("c"), key="id", write_id="w"),
        far.compact,
        lambda: far.create_index("id"),
        lambda: far.fork("side.1"),
        lambda: far.tag("v"),
    ]
    faulty_s3.inject(Rule(Answer(status), "PUT", key=VERSION_FILES))
    faulty_s3.inject(Rule(Answer(status), "PUT", key="*/_refs/*"))
    for write in writes:
        with pytest.raises(expected) as caught:
            write()
        assert type(caught.value) is expected
    faulty_s3.clear()
    assert ids(far.refresh().read()) == ["a", "b"]
