"""An effect has fired where it acted, and a predicate may ask the store that it is about."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

import boto3
import pytest
from obstore.store import S3Store as Client

from omnigraph_testing import (
    Bandwidth,
    CutReply,
    CutRequest,
    Delay,
    Effect,
    EndlessPredicate,
    FaultyS3,
    GatewayFailed,
    Held,
    Hold,
    IgnoreConditions,
    Operation,
    Refuse,
    Rule,
    S3Store,
    StaleListing,
    TruncateReply,
    TruncateRequest,
    start_faulty_s3,
)

BODY = b"0123456789"

REQUESTS: dict[str, Callable[[Client], object]] = {
    "put": lambda client: client.put("x", BODY),
    "create": lambda client: client.put("new", BODY, mode="create"),
    "get": lambda client: client.get("x").bytes(),
    "head": lambda client: client.head("x"),
    "list": lambda client: client.list().collect(),
}


@pytest.mark.parametrize(
    ("effect", "acts_on"),
    [
        (Bandwidth(1e6), "create get list put"),  # a HEAD and a PUT have no reply body
        (IgnoreConditions(), "create"),
        (StaleListing(), "list"),
        (TruncateRequest(9, silent=True), "create put"),
        (TruncateRequest(10), ""),
        (TruncateRequest(10, silent=True), ""),
        (TruncateReply(9, silent=True), "get list"),
        (TruncateReply(100_000), ""),
        (Delay(0.001), "create get head list put"),
        (Delay(0.001, at="after"), "create get head list put"),
    ],
    ids=str,
)
def test_an_effect_has_fired_where_it_acted(
    faulty_s3: FaultyS3, store: Client, effect: Effect, acts_on: str
) -> None:
    """Where it could not act, the rule has matched and not fired, and the log names no fault."""
    acted = set()
    for name, request in REQUESTS.items():
        for known in ("x", "new"):
            faulty_s3.direct.obstore().delete(known)
        faulty_s3.direct.obstore().put("x", BODY)
        store.list().collect()  # so that there is something stale to tell
        faulty_s3.forget_requests()
        rule = faulty_s3.inject(Rule(effect, times=1))
        try:
            request(store)
        except Exception:  # noqa: BLE001 - a listing that was cut short
            assert rule.fired == 1
        assert rule.matched >= 1
        assert rule.fired == sum(each.fault is not None for each in faulty_s3.requests)
        acted |= {name} if rule.fired else set()
        faulty_s3.clear()
    assert " ".join(sorted(acted)) == acts_on


def test_a_listing_that_was_never_asked_for_is_not_stale(
    faulty_s3: FaultyS3, store: Client
) -> None:
    """The true listing passes; the rule fires the next time, and its ``times`` are whole."""
    rule = faulty_s3.inject(Rule(StaleListing(), times=1))
    store.put("x", BODY)
    store.list().collect()
    assert (rule.fired, rule.matched) == (0, 2)
    store.delete("x")
    assert [each["path"] for each in store.list().collect()] == ["x"]
    assert rule.fired == 1
    assert store.list().collect() == []


def test_what_comes_after_a_verdict_has_not_acted(faulty_s3: FaultyS3, store: Client) -> None:
    """A request that never reaches the store is not delayed after it, nor held."""
    held = Held()
    late = [faulty_s3.inject(Rule(each)) for each in (Delay(9, at="after"), Hold(held, at="after"))]
    early = faulty_s3.inject(Rule(Delay(0.001)))
    faulty_s3.inject(Rule(CutRequest(), "PUT", times=1))
    faulty_s3.inject(Rule(Refuse(), "PUT", times=1))
    held.release()
    with pytest.raises(Exception, match="error sending request"):
        store.put("x", BODY, mode="create")
    assert [each.fired for each in (*late, early)] == [0, 0, 1]
    late[0].remove()
    with pytest.raises(Exception, match="error sending request"):
        store.put("x", BODY, mode="create")
    assert early.fired == 1
    assert [each.fault for each in faulty_s3.requests] == ["Delay + CutRequest", "Refuse"]
    store.put("x", BODY, mode="create")
    assert late[1].fired == 0  # what is released keeps nothing


def test_a_verdict_that_cannot_act_leaves_the_request_to_the_next(
    faulty_s3: FaultyS3, store: Client
) -> None:
    """A rule for stale listings, before another and without a method, is not in its way."""
    faulty_s3.inject(Rule(StaleListing()))
    lost = faulty_s3.inject(Rule(CutReply(), times=1))
    store.put("x", BODY)
    assert lost.fired == 1


def test_a_body_of_no_more_than_was_to_be_kept_passes(
    faulty_s3: FaultyS3, store: Client, truth: Callable[[str], bytes | None]
) -> None:
    """With ``keep`` at or beyond the size the put is whole, and its reply passes."""
    for silent in (False, True):
        for keep in (len(BODY), len(BODY) + 1):
            rule = faulty_s3.inject(Rule(TruncateRequest(keep, silent=silent), "PUT"))
            store.put("x", BODY)
            assert truth("x") == BODY
            assert (rule.matched, rule.fired) == (1, 0)
            faulty_s3.clear()
    assert [(each.status, each.fault) for each in faulty_s3.requests] == [(200, None)] * 4


def test_a_predicate_may_ask_its_own_store(faulty_s3: FaultyS3) -> None:
    """What it asks passes the gateway meanwhile, and meets the rules, its own included."""
    asking = faulty_s3.obstore()
    asking.put("switch", b"on")

    def is_on(operation: Operation) -> bool:
        return operation.key != "switch" and asking.get("switch").bytes() == b"on"

    rule = faulty_s3.inject(Rule(CutReply(), predicate=is_on, times=1))
    faulty_s3.obstore().put("x", b"1")
    assert rule.fired == 1
    asking.put("switch", b"off")
    faulty_s3.inject(Rule(Refuse(), predicate=is_on))
    faulty_s3.obstore().put("x", b"2")
    assert {each.key for each in faulty_s3.requests} == {"switch", "x"}


def test_a_predicate_that_waits_does_not_hold_up_others(faulty_s3: FaultyS3) -> None:
    """The gateway serves other requests while a predicate takes its time."""
    begun, goes_on = threading.Event(), threading.Event()

    def waits(_operation: Operation) -> bool:
        begun.set()
        return not goes_on.wait(20)

    faulty_s3.inject(Rule(Refuse(), key="slow", predicate=waits))
    slow = threading.Thread(target=faulty_s3.obstore().put, args=("slow", b"1"))
    slow.start()
    assert begun.wait(20)
    faulty_s3.obstore().put("quick", b"1")
    assert slow.is_alive()
    goes_on.set()
    slow.join(20)
    assert [each.status for each in faulty_s3.requests] == [200, 200]


def test_a_predicate_that_asks_for_ever_fails_the_test(s3_store: S3Store) -> None:
    """It is stopped, its rules are out of force, every client gets on, and the end tells why."""
    with (  # noqa: PT012
        pytest.raises(GatewayFailed, match="EndlessPredicate") as caught,
        start_faulty_s3(s3_store) as faulty,
    ):
        client = faulty.obstore()
        client.put("x", b"1")
        faulty.inject(Rule(Refuse(), predicate=lambda _: bool(client.head("x"))))
        client.put("x", b"2")
    assert isinstance(caught.value.__cause__, EndlessPredicate)
    assert s3_store.obstore().get("x").bytes() == b"2"


@pytest.mark.parametrize(("keep", "status"), [(10, 200), (9, None)])
def test_a_body_of_unknown_length_is_measured_when_it_is_there(
    faulty_s3: FaultyS3, keep: int, status: int | None
) -> None:
    """A body in chunks tells its size at its end only: then it is torn, or passes whole."""
    client = boto3.client("s3", **faulty_s3.client_kwargs)
    where = {"Bucket": faulty_s3.bucket, "Key": faulty_s3.key("x")}
    url = urlsplit(client.generate_presigned_url("put_object", Params=where))
    client.close()
    rule = faulty_s3.inject(Rule(TruncateRequest(keep), "PUT"))
    connection = http.client.HTTPConnection(url.netloc)
    connection.request(
        "PUT", f"{url.path}?{url.query}", iter([BODY[:5], BODY[5:]]), encode_chunked=True
    )
    with contextlib.nullcontext() if status else pytest.raises(ConnectionError):
        assert connection.getresponse().status == status
    connection.close()
    assert (rule.matched, rule.fired) == (1, int(status is None))
