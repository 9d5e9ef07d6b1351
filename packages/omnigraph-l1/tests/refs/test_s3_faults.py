"""Refs in a real S3 server behind a gateway that loses, doubles, delays and refuses requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import attrs
import pytest
from obstore.store import S3Store as ObstoreS3

from omnigraph_l1 import JsonRefs, Storage
from omnigraph_l1.errors import (
    AccessDenied,
    CorruptRef,
    InvalidRequest,
    OutcomeUnknown,
    RefChanged,
    RefNotFound,
    StorageError,
    StoreUnavailable,
    UnsafeStore,
)
from omnigraph_testing import (
    Answer,
    CutReply,
    CutRequest,
    Delay,
    Effect,
    FaultyS3,
    IgnoreConditions,
    Refuse,
    Rule,
    S3Store,
    Twice,
)

SECONDS = 20.0


def refs_in(store: S3Store | FaultyS3, *, reuse_names: bool = True) -> JsonRefs:
    """Open the refs of a store."""
    storage = Storage.resolve(store.uri(), store.storage_options)
    return JsonRefs.open(storage, "_refs/branches", reuse_names=reuse_names)


@pytest.fixture
def two_hours_later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let listings say from now on that every object is two hours older."""
    listing = ObstoreS3.list_with_delimiter

    def aged(store: ObstoreS3, *given: Any) -> Any:
        found = listing(store, *given)
        for each in found["objects"]:
            each["last_modified"] -= timedelta(hours=2)
        return found

    return lambda: monkeypatch.setattr(ObstoreS3, "list_with_delimiter", aged)


def keys(store: S3Store) -> list[str]:
    """List what really is below the prefix."""
    listed = store.obstore().list()
    return sorted(each["path"] for chunk in listed for each in chunk)


@pytest.mark.parametrize(
    "effect",
    [
        CutReply(),
        CutRequest(),
        Refuse(),
        Answer(500),
        Answer(503),
        Answer(500, applied=True),
        Answer(409),
        Answer(412),
        Twice("second"),
    ],
    ids=str,
)
def test_one_fault_is_survived(faulty_s3: FaultyS3, effect: Effect) -> None:
    """Each fault, once in each write, is resolved: the write is told done, and happened once."""
    refs = refs_in(faulty_s3)
    rule = faulty_s3.inject(Rule(effect, "PUT", every=2, times=3))
    faulty_s3.inject(Rule(Refuse(), "GET", nth=1))
    ref = refs.create("warm", {})  # the first PUT passes
    ref = refs.replace(ref, {"n": 1})
    ref = refs.replace(ref, {"n": 2})
    made = refs.create("main", {})
    refs.delete(made)
    assert rule.fired >= 2
    faulty_s3.clear()
    assert refs.get("main") is None
    assert refs.get("warm") == ref
    assert len(ref.earlier_writes) == 2


def test_a_delayed_put_lands_only_where_nothing_else_happened(faulty_s3: FaultyS3) -> None:
    """A PUT that the client gave up on is sent again, and the late one, when it arrives, changes
    nothing.
    """
    refs = refs_in(faulty_s3)
    ref = refs.create("main", {"n": 0})
    with faulty_s3.hold("PUT", cut=True) as held:
        made = refs.replace(ref, {"n": 1})
        held.wait()
        newer = refs.replace(made, {"n": 2})
    faulty_s3.wait_until_idle()
    assert refs.get("main") == newer


def test_a_delayed_deletion_does_not_delete_what_came_after(faulty_s3: FaultyS3) -> None:
    """A deletion whose request arrives late does not touch the ref that was created since."""
    refs, other = refs_in(faulty_s3), refs_in(faulty_s3.direct)
    ref = refs.create("main", {"life": 1})
    with faulty_s3.hold("PUT", cut=True) as held:
        refs.delete(ref)
        held.wait()
        again = other.create("main", {"life": 2})
    faulty_s3.wait_until_idle()
    assert other.get("main") == again


def test_a_delayed_creation_does_not_raise_the_dead(faulty_s3: FaultyS3) -> None:
    """A creation that was given up, and arrives after the name was used and deleted, fails."""
    refs, other = refs_in(faulty_s3), refs_in(faulty_s3.direct)
    impatient = attrs.evolve(refs)
    with faulty_s3.hold("PUT", cut=True, times=None) as held:
        with pytest.raises(OutcomeUnknown) as caught:
            impatient.create("main", {"by": "the dead"})
        held.wait()
        other.delete(other.create("main", {"by": "other"}))
    faulty_s3.wait_until_idle()
    assert other.get("main") is None
    assert not other.wrote("main", caught.value.write_id)


def test_the_outcome_is_unknown_where_looking_back_fails(faulty_s3: FaultyS3) -> None:
    """The reply is lost, and then the store goes down: OutcomeUnknown, whose id is found later."""
    refs = refs_in(faulty_s3)
    ref = refs.create("main", {})
    faulty_s3.inject(Rule(CutReply(), "PUT"))
    faulty_s3.inject(Rule(Answer(503), "GET"))
    started = time.monotonic()
    with pytest.raises(OutcomeUnknown) as caught:
        refs.replace(ref, {"n": 1})
    assert time.monotonic() - started < SECONDS
    faulty_s3.clear()
    assert refs.wrote("main", caught.value.write_id)
    with pytest.raises(RefChanged):
        refs.replace(ref, {"n": 1})


def test_a_store_that_is_down(faulty_s3: FaultyS3) -> None:
    """Reading, writing and listing raise StoreUnavailable in seconds; afterwards all is well."""
    refs = refs_in(faulty_s3)
    ref = refs.create("main", {})
    with faulty_s3.down():
        attempts: list[Callable[[], object]] = [partial(refs.get, "main"), refs.list, refs.probe]
        attempts += [partial(refs.create, "other", {}), partial(refs.replace, ref, {})]
        attempts += [partial(refs.delete, ref)]
        for attempt in attempts:
            started = time.monotonic()
            with pytest.raises(StoreUnavailable):
                attempt()
            assert time.monotonic() - started < SECONDS
    assert refs.list() == (ref,)


def test_a_store_that_ignores_conditions_is_refused(faulty_s3: FaultyS3) -> None:
    """The probe finds out a store that ignores any of the conditions, and leaves nothing."""
    refs = refs_in(faulty_s3)
    refs.probe()
    faulty_s3.inject(Rule(IgnoreConditions(), "PUT"))
    with pytest.raises(UnsafeStore, match="If-None-Match"):
        refs.probe()
    faulty_s3.clear()
    faulty_s3.inject(
        Rule(IgnoreConditions(), "PUT", predicate=lambda op: "if-match" in str(op.condition))
    )
    with pytest.raises(UnsafeStore, match="If-Match"):
        refs.probe()
    faulty_s3.clear()
    faulty_s3.inject(Rule(Answer(412), "PUT"))
    with pytest.raises(UnsafeStore, match="refuses a conditional write whose condition holds"):
        refs.probe()
    assert keys(faulty_s3.direct) == []


def test_a_deleted_ref_leaves_a_tombstone_that_tidying_removes(
    faulty_s3: FaultyS3, two_hours_later: Callable[[], None]
) -> None:
    """A tombstone stays for an hour, whatever is asked; then tidying removes it, and the probes
    that were left, but no ref.
    """
    refs = refs_in(faulty_s3)
    kept = refs.create("kept", {})
    refs.delete(refs.create("gone", {}))
    faulty_s3.inject(Rule(Answer(403), "DELETE_MANY"))
    refs.probe()
    faulty_s3.clear()
    assert refs.tidy() == 0
    with pytest.raises(InvalidRequest, match="too young"):
        refs.tidy(timedelta(minutes=5))
    assert len(keys(faulty_s3.direct)) == 3
    two_hours_later()
    assert refs.tidy() == 2
    assert refs.list() == (kept,)
    assert keys(faulty_s3.direct) == ["_refs/branches/kept.json"]
    assert refs.create("gone", {"again": True}).earlier_writes == ()


def test_tombstones_of_names_that_are_not_reused_go_at_once(s3_store: S3Store) -> None:
    """With reuse_names=False a deleted ref leaves nothing behind, and stays deleted."""
    refs = refs_in(s3_store, reuse_names=False)
    ref = refs.create("01M7QAMQS6X6W1C51ZGDTP9C3E", {})
    refs.delete(ref)
    assert keys(s3_store) == []
    with pytest.raises(RefNotFound):
        refs.replace(ref, {})


def test_a_store_that_ignores_conditions_of_deletions_keeps_tombstones(
    faulty_s3: FaultyS3,
) -> None:
    """Where DELETE ignores If-Match it is never used on a ref: the tombstone stays."""
    faulty_s3.inject(Rule(IgnoreConditions(), "DELETE"))
    # What is known of a store is kept: here are other options than those of other tests.
    options = {**faulty_s3.storage_options, "connect_timeout": "4321 ms"}
    storage = Storage.resolve(faulty_s3.uri(), options)
    refs = JsonRefs.open(storage, "_refs/branches", reuse_names=False)
    refs.delete(refs.create("gone", {}))
    assert refs.list() == ()
    assert keys(faulty_s3.direct) == ["_refs/branches/gone.json"]


def test_a_tombstone_that_was_replaced_is_not_removed(
    faulty_s3: FaultyS3, two_hours_later: Callable[[], None]
) -> None:
    """Tidying that was decided on before the name was used again does not remove the new ref."""
    refs, other = refs_in(faulty_s3), refs_in(faulty_s3.direct)
    refs.delete(refs.create("main", {}))
    two_hours_later()
    with ThreadPoolExecutor(1) as pool, faulty_s3.hold("DELETE", key="*/main.json") as held:
        tidying = pool.submit(refs.tidy)
        held.wait()
        again = other.create("main", {"again": True})
        held.release()
        assert tidying.result() == 0
    assert refs.get("main") == again


def test_bad_credentials(s3_store: S3Store) -> None:
    """Wrong credentials are AccessDenied for every operation, without the credentials."""
    wrong = Storage.resolve(
        s3_store.uri(), s3_store.storage_options | {"aws_secret_access_key": "hunter2"}
    )
    refs = JsonRefs.open(wrong, "_refs/branches")
    attempts: list[Callable[[], object]] = [partial(refs.get, "main"), refs.list, refs.probe]
    attempts += [partial(refs.create, "main", {})]
    for attempt in attempts:
        with pytest.raises(AccessDenied) as caught:
            attempt()
        assert "hunter2" not in f"{caught.value}{caught.value!r}{caught.value.__cause__}"
    assert keys(s3_store) == []


def test_a_missing_bucket(s3_store: S3Store) -> None:
    """A bucket that is not there is a StorageError that says so, not an empty set of refs."""
    nowhere = attrs.evolve(s3_store, bucket="no-such-bucket-here", prefix="x")
    refs = refs_in(nowhere)
    with pytest.raises(StorageError, match="NoSuchBucket"):
        refs.get("main")


def test_a_damaged_object_is_named(s3_store: S3Store) -> None:
    """An object that is no document is CorruptRef for all who meet it, and stays as it is."""
    refs = refs_in(s3_store)
    s3_store.obstore("_refs/branches").put("main.json", b"{torn")
    attempts: list[Callable[[], object]] = [partial(refs.get, "main"), refs.list]
    attempts += [partial(refs.create, "main", {})]
    for attempt in attempts:
        with pytest.raises(CorruptRef) as caught:
            attempt()
        assert caught.value.name == "main"
    assert bytes(s3_store.obstore("_refs/branches").get("main.json").bytes()) == b"{torn"


def test_what_operations_cost(faulty_s3: FaultyS3) -> None:
    """Creating, replacing, deleting and reading are one request each, probing is six; trying again
    is ours alone, not obstore's on top.
    """
    refs = refs_in(faulty_s3)
    refs.create("warm", {})
    with faulty_s3.expect(max_requests=4):
        ref = refs.create("main", {})
        ref = refs.replace(ref, {"n": 1})
        refs.get("main")
        refs.delete(ref)
    with faulty_s3.expect(max_requests=6):
        refs.probe()
    rule = faulty_s3.inject(Rule(Answer(503), "PUT"))
    with pytest.raises(OutcomeUnknown):
        refs.create("new", {})
    assert rule.fired == 4


def test_listing_again_reads_what_was_written_since(faulty_s3: FaultyS3) -> None:
    """Nothing else: a list costs one request, and one for each ref that is new or changed."""
    refs, elsewhere = refs_in(faulty_s3), refs_in(faulty_s3)
    for number in range(5):
        refs.create(f"ref-{number}", {"n": 0})
    assert len(refs.list()) == 5
    with faulty_s3.expect(max_requests=1):
        refs.list()
    changed = elsewhere.get("ref-3")
    gone = elsewhere.get("ref-4")
    assert changed is not None
    assert gone is not None
    elsewhere.replace(changed, {"n": 1})
    elsewhere.delete(gone)
    elsewhere.create("ref-5", {"n": 2})
    with faulty_s3.expect(max_requests=4):
        listed = {each.name: each.value["n"] for each in refs.list()}
    assert listed == {"ref-0": 0, "ref-1": 0, "ref-2": 0, "ref-3": 1, "ref-5": 2}


def test_a_write_whose_slow_request_is_cut_is_tried_again(faulty_s3: FaultyS3) -> None:
    """Although all the time for retries has gone by: nothing was done, and a second try tells."""
    options = {**faulty_s3.storage_options, "client_retry_timeout": "1"}
    refs = JsonRefs.open(Storage.resolve(faulty_s3.uri(), options))
    ref = refs.create("x", {"turn": 1})
    faulty_s3.inject(Rule(Delay(1.5), "PUT", key="*x.json", times=1))
    faulty_s3.inject(Rule(CutRequest(), "PUT", key="*x.json", times=1))
    assert refs.replace(ref, {"turn": 2}).value == {"turn": 2}
