"""In the wrappers, too, an effect has fired where it acted; predicates may ask their own store."""

from __future__ import annotations

import asyncio

import pytest
from obstore.exceptions import GenericError
from obstore.store import MemoryStore

from omnigraph_testing import (
    Bandwidth,
    CutReply,
    CutRequest,
    EndlessPredicate,
    FaultyStore,
    Operation,
    Rule,
    TruncateReply,
    TruncateRequest,
)


def test_a_predicate_may_ask_its_own_store() -> None:
    """From its own thread, and from an event loop of its own."""
    store = FaultyStore(MemoryStore(), timeout=10)
    store.put("switch", b"on")

    def is_on(operation: Operation) -> bool:
        if operation.key == "switch":
            return False
        asked = asyncio.run(store.get_async("switch"))
        return bytes(asked.bytes()) == bytes(store.get("switch").bytes()) == b"on"

    rule = store.inject(Rule(CutRequest(), "PUT", predicate=is_on))
    with pytest.raises(GenericError):
        store.put("x", b"1")
    store.put("switch", b"off")
    store.put("x", b"2")
    assert (rule.fired, rule.matched) == (1, 1)
    assert bytes(store.get("x").bytes()) == b"2"


def test_a_predicate_that_asks_for_ever_is_told_so() -> None:
    """The caller gets a typed error at once, also where another thread carries its call."""
    store = FaultyStore(MemoryStore(), timeout=10)
    store.inject(Rule(CutReply(), predicate=lambda _: bool(store.head("x"))))
    with pytest.raises(EndlessPredicate, match="HEAD x"):
        store.put("x", b"1")
    store.clear()
    store.inject(Rule(CutReply(), predicate=lambda _: bool(asyncio.run(store.head_async("x")))))
    with pytest.raises(EndlessPredicate, match="HEAD x"):
        store.put("x", b"1")
    assert store.wait_until_idle(10)


def test_a_body_of_no_more_than_was_to_be_kept_passes() -> None:
    """Nothing is torn, and nothing has fired: ``TruncateRequest`` and ``TruncateReply``."""
    for effect in (TruncateRequest(2), TruncateRequest(2, silent=True), TruncateReply(2)):
        store = FaultyStore(MemoryStore())
        rule = store.inject(Rule(effect, ["PUT", "GET"]))
        store.put("x", b"12")
        assert bytes(store.get("x").bytes()) == b"12"
        assert (rule.fired, rule.matched) == (0, 2)
        assert {each.fault for each in store.requests} == {None}


def test_a_thin_line_acts_where_data_passes() -> None:
    """Not on a HEAD, which has no body; two are as thin as the thinner, which acts."""
    store = FaultyStore(MemoryStore())
    wide, thin = (store.inject(Rule(Bandwidth(pace))) for pace in (1e6, 1e5))
    store.put("x", b"1" * 10)
    store.head("x")
    assert (wide.fired, thin.fired) == (0, 1)
    assert [each.fault for each in store.requests] == ["Bandwidth", None]
