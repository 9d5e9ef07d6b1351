"""What real obstore does when each effect meets it. docs/testing/faulty-s3.md tells the same.

They pin what obstore does, not what we do: when a new version of it behaves in another way they
fail, and the documentation is to be mended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from obstore.exceptions import AlreadyExistsError, GenericError, PreconditionError
from obstore.store import S3Store

from omnigraph_testing import (
    Answer,
    Bandwidth,
    CutReply,
    CutRequest,
    Delay,
    Effect,
    FaultyS3,
    IgnoreConditions,
    Refuse,
    Rule,
    StaleListing,
    TruncateReply,
    TruncateRequest,
    Twice,
)

Truth: TypeAlias = Callable[[str], "bytes | None"]


@pytest.mark.parametrize("status", [500, 503])
def test_server_errors_are_retried(
    faulty_s3: FaultyS3, store: S3Store, truth: Truth, status: int
) -> None:
    """Once is not noticed, conditional or not."""
    faulty_s3.inject(Rule(Answer(status), nth=1, per_key=True))
    store.put("x", b"1")
    store.put("y", b"2", mode="create")
    assert bytes(store.get("x").bytes()) == b"1"
    assert truth("y") == b"2"
    assert [each.status for each in faulty_s3.requests].count(status) >= 2


def test_server_errors_that_stay_are_raised(faulty_s3: FaultyS3, store: S3Store) -> None:
    """After ``max_retries`` the error carries S3's code, and no class of its own."""
    faulty_s3.inject(Rule(Answer(503)))
    with pytest.raises(GenericError, match="SlowDown"):
        store.put("x", b"1")
    assert [each.status for each in faulty_s3.requests] == [503, 503]


def test_an_untrue_412_is_believed(faulty_s3: FaultyS3, store: S3Store, truth: Truth) -> None:
    """The caller is told that the object exists, or changed; it does not, and did not."""
    faulty_s3.inject(Rule(Answer(412), "PUT"))
    with pytest.raises(AlreadyExistsError):
        store.put("x", b"1", mode="create")
    with pytest.raises(PreconditionError):
        store.put("x", b"1")
    assert truth("x") is None


def test_a_409_is_taken_for_already_exists(faulty_s3: FaultyS3, store: S3Store) -> None:
    """S3 says 409 where a conditional write should be tried again; obstore says "exists"."""
    faulty_s3.inject(Rule(Answer(409), "PUT"))
    with pytest.raises(AlreadyExistsError):
        store.put("x", b"1")
    assert len(faulty_s3.requests) == 1


@pytest.mark.parametrize("effect", [Refuse(), CutRequest(), TruncateRequest(1)])
def test_a_cut_request_is_retried_only_without_a_condition(
    faulty_s3: FaultyS3, store: S3Store, truth: Truth, effect: Effect
) -> None:
    """A plain put is done again; a conditional one is raised, and had no effect."""
    faulty_s3.inject(Rule(effect, "PUT", nth=[1, 3]))
    store.put("x", b"12")
    assert truth("x") == b"12"
    with pytest.raises(GenericError, match="error sending request"):
        store.put("y", b"34", mode="create")
    assert truth("y") is None
    assert [each.fault for each in faulty_s3.requests] == [
        type(effect).__name__,
        None,
        type(effect).__name__,
    ]


def test_a_lost_reply_of_a_conditional_put_is_raised(
    faulty_s3: FaultyS3, store: S3Store, truth: Truth
) -> None:
    """The error is the same as if nothing had happened, but the object is there."""
    faulty_s3.inject(Rule(CutReply(), "PUT"))
    with pytest.raises(GenericError, match="error sending request"):
        store.put("x", b"1", mode="create")
    assert truth("x") == b"1"
    (met,) = faulty_s3.requests
    assert (met.status, met.store_status) == (None, 200)


@pytest.mark.parametrize("effect", [Answer(500, applied=True), Twice("second")])
def test_a_conditional_put_can_conflict_with_itself(
    faulty_s3: FaultyS3, store: S3Store, truth: Truth, effect: Effect
) -> None:
    """Repeated, by obstore or on the way, it meets its own object: "exists", and it is one's own.

    Whoever writes such objects must find out by an id of the write.
    """
    faulty_s3.inject(Rule(effect, "PUT", times=1))
    with pytest.raises(AlreadyExistsError):
        store.put("x", b"mine", mode="create")
    assert truth("x") == b"mine"


def test_a_put_that_was_given_up_lands_over_the_next_one(
    faulty_s3: FaultyS3, store: S3Store, truth: Truth
) -> None:
    """A plain put whose reply is late is done again; the late one then replaces what came since."""
    late = faulty_s3.hold("PUT", cut=True)
    store.put("x", b"old")
    store.put("x", b"new")
    assert truth("x") == b"new"
    late.release()
    faulty_s3.wait_until_idle()
    assert truth("x") == b"old"


def test_delivered_twice_a_plain_put_is_the_same(
    faulty_s3: FaultyS3, store: S3Store, truth: Truth
) -> None:
    """Nothing is to be seen of it."""
    faulty_s3.inject(Rule(Twice(), "PUT"))
    store.put("x", b"1")
    assert truth("x") == b"1"


def test_a_slow_reply_is_awaited(faulty_s3: FaultyS3, store: S3Store) -> None:
    """A delay within the time-out, and a thin line, cost time and nothing else."""
    faulty_s3.inject(Rule(Delay(0.1, at="after"), "PUT"))
    faulty_s3.inject(Rule(Bandwidth(50_000), "GET"))
    store.put("x", b"1" * 10_000)
    assert bytes(store.get("x").bytes()) == b"1" * 10_000
    put, got = faulty_s3.requests
    assert put.seconds is not None
    assert put.seconds >= 0.1
    assert got.seconds is not None
    assert got.seconds >= 0.2


def test_the_rest_of_a_cut_reply_is_asked_for(faulty_s3: FaultyS3, store: S3Store) -> None:
    """A GET goes on where it was cut; a listing is raised."""
    faulty_s3.direct.obstore().put("x", b"0123456789")
    faulty_s3.inject(Rule(TruncateReply(4), times=1))
    assert bytes(store.get("x").bytes()) == b"0123456789"
    assert [(each.status, each.bytes_out) for each in faulty_s3.requests] == [(200, 4), (206, 6)]
    faulty_s3.inject(Rule(TruncateReply(4), "LIST"))
    with pytest.raises(GenericError, match="list response"):
        store.list().collect()


def test_a_short_reply_that_does_not_say_so_is_believed(
    faulty_s3: FaultyS3, store: S3Store
) -> None:
    """Obstore compares with nothing: whoever must know keeps a digest of the content."""
    faulty_s3.direct.obstore().put("x", b"0123456789")
    faulty_s3.inject(Rule(TruncateReply(4, silent=True), "GET"))
    assert bytes(store.get("x").bytes()) == b"0123"


def test_a_body_torn_on_its_way_is_not_noticed(
    faulty_s3: FaultyS3, store: S3Store, truth: Truth
) -> None:
    """The put is a success; the object is short. Its e-tag tells."""
    faulty_s3.inject(Rule(TruncateRequest(4, silent=True), "PUT"))
    torn = store.put("x", b"0123456789")
    assert truth("x") == b"0123"
    faulty_s3.clear()
    assert store.put("x", b"0123456789")["e_tag"] != torn["e_tag"]


def test_without_conditions_everybody_wins(
    faulty_s3: FaultyS3, store: S3Store, truth: Truth
) -> None:
    """Creating twice, and replacing what is no longer there: both are told of success."""
    faulty_s3.inject(Rule(IgnoreConditions(), "PUT"))
    first = store.put("x", b"1", mode="create")
    store.put("x", b"2", mode="create")
    store.put("x", b"3", mode={"e_tag": first["e_tag"]})
    assert truth("x") == b"3"
    assert all(each.operation.condition for each in faulty_s3.requests if each.number != 2)


def test_with_conditions_one_wins(faulty_s3: FaultyS3, store: S3Store, truth: Truth) -> None:
    """The same without the rule: the gateway passes conditions on."""
    first = store.put("x", b"1", mode="create")
    with pytest.raises(AlreadyExistsError):
        store.put("x", b"2", mode="create")
    store.put("x", b"3", mode={"e_tag": first["e_tag"]})
    with pytest.raises(PreconditionError):
        store.put("x", b"4", mode={"e_tag": first["e_tag"]})
    assert truth("x") == b"3"


def test_a_stale_listing_is_what_was_listed_before(faulty_s3: FaultyS3, store: S3Store) -> None:
    """An object that was put since is missing; one that was deleted is still there."""
    store.put("a", b"1")
    assert [each["path"] for each in store.list().collect()] == ["a"]
    rule = faulty_s3.inject(Rule(StaleListing(), "LIST"))
    store.put("b", b"2")
    store.delete("a")
    assert [each["path"] for each in store.list().collect()] == ["a"]
    rule.remove()
    assert [each["path"] for each in store.list().collect()] == ["b"]


def test_a_store_that_is_down_refuses(faulty_s3: FaultyS3, store: S3Store, truth: Truth) -> None:
    """Nothing is recorded of it, and the same client works afterwards."""
    store.put("x", b"1")
    with faulty_s3.down(), pytest.raises(GenericError, match="error sending request"):
        store.get("x")
    assert bytes(store.get("x").bytes()) == b"1"
    assert len(faulty_s3.requests) == 2


def test_a_reply_that_is_too_late_is_as_good_as_none(faulty_s3: FaultyS3, truth: Truth) -> None:
    """After the client option ``timeout`` a plain put is tried again, a conditional one raised."""
    store = S3Store.from_url(
        faulty_s3.uri(),
        config=faulty_s3.obstore_kwargs["config"],  # type: ignore[arg-type]
        client_options={"allow_http": True, "timeout": "2s"},
    )
    late = faulty_s3.hold("PUT", at="after", times=None, key="*late")
    with pytest.raises(GenericError, match="error sending request"):
        store.put("late", b"1", mode="create")
    late.wait()
    late.release()
    assert faulty_s3.wait_until_idle()
    assert truth("late") == b"1"
    with faulty_s3.hold("PUT", at="after") as held:
        store.put("plain", b"1")
        held.wait()
    assert [each.key for each in faulty_s3.requests].count("plain") >= 2


def test_a_409_on_a_conditional_put(faulty_s3: FaultyS3, store: S3Store) -> None:
    """On a creation it is not tried again; on a swap it is, and raised in the end."""
    rule = faulty_s3.inject(Rule(Answer(409), "PUT", key="new"))
    with pytest.raises(AlreadyExistsError):
        store.put("new", b"1", mode="create")
    assert rule.fired == 1
    tag = store.put("x", b"1")["e_tag"]
    once = faulty_s3.inject(Rule(Answer(409), "PUT", key="x", times=1))
    tag = store.put("x", b"2", mode={"e_tag": tag})["e_tag"]
    assert once.fired == 1
    always = faulty_s3.inject(Rule(Answer(409), "PUT", key="x"))
    with pytest.raises(AlreadyExistsError):
        store.put("x", b"3", mode={"e_tag": tag})
    assert always.fired == 2


@pytest.mark.parametrize("effect", [CutReply(), Answer(500, applied=True), Twice("second")])
def test_a_lost_reply_of_a_plain_put_is_not_noticed(
    faulty_s3: FaultyS3, store: S3Store, truth: Truth, effect: Effect
) -> None:
    """It is done again, where there was no good reply, and that is the same."""
    rule = faulty_s3.inject(Rule(effect, "PUT", times=1))
    store.put("x", b"1")
    assert truth("x") == b"1"
    assert rule.fired == 1
    assert len(faulty_s3.requests) == (1 if isinstance(effect, Twice) else 2)


def test_delivered_twice_a_creation_is_not_noticed(
    faulty_s3: FaultyS3, store: S3Store, truth: Truth
) -> None:
    """The first reply says that it was created; the second, which said 412, went nowhere."""
    faulty_s3.inject(Rule(Twice(), "PUT"))
    store.put("x", b"1", mode="create")
    assert truth("x") == b"1"


@pytest.mark.parametrize("effect", [Refuse(), CutRequest(), CutReply(), Answer(500)])
def test_reading_is_tried_again(faulty_s3: FaultyS3, store: S3Store, effect: Effect) -> None:
    """A GET, a HEAD and a listing that fail once are not noticed."""
    faulty_s3.direct.obstore().put("x", b"1")
    for method in ("GET", "HEAD", "LIST"):
        faulty_s3.inject(Rule(effect, method, times=1))
    assert bytes(store.get("x").bytes()) == b"1"
    assert store.head("x")["size"] == 1
    assert [each["path"] for each in store.list().collect()] == ["x"]
    assert [each.fault for each in faulty_s3.requests].count(None) == 3


def test_a_short_listing_that_does_not_say_so_is_raised(
    faulty_s3: FaultyS3, store: S3Store
) -> None:
    """XML that ends early cannot be read, and is not asked for again."""
    faulty_s3.inject(Rule(TruncateReply(100, silent=True), "LIST"))
    with pytest.raises(GenericError, match="list response"):
        store.list().collect()
    assert len(faulty_s3.requests) == 1


def test_a_conditional_put_is_repeated_where_the_connection_was_closed_in_order(
    faulty_s3: FaultyS3, store: S3Store, truth: Truth
) -> None:
    """An end is not a reset: it is sent again, and conflicts with itself if it had its effect."""
    faulty_s3.inject(Rule(CutRequest(by="close"), "PUT", times=1))
    tag = store.put("x", b"1", mode="create")["e_tag"]
    faulty_s3.inject(Rule(CutReply(by="close"), "PUT", key="y", times=1))
    with pytest.raises(AlreadyExistsError):
        store.put("y", b"mine", mode="create")
    faulty_s3.inject(Rule(CutReply(by="close"), "PUT", key="x", times=1))
    with pytest.raises(PreconditionError):
        store.put("x", b"mine", mode={"e_tag": tag})
    assert truth("y") == truth("x") == b"mine"
