"""``FaultyStore`` makes callers wait: held, delayed, cancelled, or longer than their time-out."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from obstore.exceptions import GenericError
from obstore.store import MemoryStore

from omnigraph_testing import Bandwidth, Delay, FaultyStore, InvalidOption, Rule


def truth(store: FaultyStore, key: str) -> bytes | None:
    """What really is at a key, or None."""
    try:
        return bytes(store.direct.get(key).bytes())
    except FileNotFoundError:
        return None


async def _until_no_call_is_under_way() -> None:
    deadline = time.monotonic() + 10
    while any(each.name == "omnigraph-testing" for each in threading.enumerate()):
        assert time.monotonic() < deadline
        await asyncio.sleep(0)


def test_a_hold_forces_an_order_between_threads(store: FaultyStore) -> None:
    """The put that came first is held, the second passes, then the first: it has the last word."""
    with store.hold("PUT", key="x") as held:
        first = threading.Thread(target=store.put, args=("x", b"first"))
        first.start()
        held.wait()
        store.put("x", b"second")
        assert truth(store, "x") == b"second"
    first.join()
    assert truth(store, "x") == b"first"


def test_holds_of_one_event_loop_do_not_stop_it(store: FaultyStore) -> None:
    """Forty held calls of one loop leave it free to make another, and to let them go."""

    async def race() -> None:
        held = store.hold("PUT", key="held-*", times=40)
        puts = [asyncio.ensure_future(store.put_async(f"held-{n}", b"1")) for n in range(40)]
        await asyncio.to_thread(held.wait, 10, count=40)
        await store.put_async("free", b"1")
        assert truth(store, "held-0") is None
        held.release()
        await asyncio.gather(*puts)

    asyncio.run(race())
    assert len(store.direct.list().collect()) == 41


def test_a_caller_that_is_cancelled_does_not_stop_its_request(store: FaultyStore) -> None:
    """What was sent has its effect, later; and the event loop hears no more of it."""
    complaints: list[object] = []

    async def give_up() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
        held = store.hold("PUT")
        put = asyncio.ensure_future(store.put_async("x", b"1"))
        await asyncio.to_thread(held.wait)
        put.cancel()
        with pytest.raises(asyncio.CancelledError):
            await put
        assert truth(store, "x") is None
        held.release()
        await _until_no_call_is_under_way()

    asyncio.run(give_up())
    assert truth(store, "x") == b"1"
    assert complaints == []


@pytest.mark.parametrize("effect", [Delay(2), Delay(2, at="after"), Bandwidth(1.5)])
def test_a_caller_waits_as_long_as_its_timeout(effect: Any) -> None:
    """Then it is told what obstore tells of a time-out, and the request goes on without it."""
    store = FaultyStore(MemoryStore(), timeout=0.05)
    store.inject(Rule(effect, times=1))
    with pytest.raises(GenericError, match="error sending request"):
        store.put("x", b"123")
    assert store.requests[0].seconds is None
    assert store.wait_until_idle()
    assert truth(store, "x") == b"123"
    (late,) = store.requests
    assert (late.status, late.store_status) == (None, 200)
    assert late.seconds is not None
    assert late.seconds >= 2


def test_latency_and_pace_take_their_time(store: FaultyStore) -> None:
    """A caller that waits long enough sees nothing else of them."""
    store.latency = 0.05
    store.inject(Rule(Bandwidth(100), "GET"))
    store.put("x", b"12345")
    assert bytes(store.get("x").bytes()) == b"12345"
    put, got = store.requests
    assert put.seconds is not None
    assert put.seconds >= 0.05
    assert got.seconds is not None
    assert got.seconds >= 0.1
    with pytest.raises(InvalidOption, match="latency"):
        store.latency = -1
    with pytest.raises(InvalidOption, match="timeout"):
        FaultyStore(MemoryStore(), timeout=0)
