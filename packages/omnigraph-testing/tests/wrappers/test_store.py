"""``FaultyStore`` over stores in memory and on local disk: what is its own, beside the effects.

What the effects do to each operation is compared with the gateway in ``test_same_as_gateway.py``.
"""

from __future__ import annotations

import asyncio
import inspect
import io
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, GenericError
from obstore.store import LocalStore, MemoryStore, ObjectStoreMethods

from omnigraph_testing import (
    Answer,
    BudgetExceeded,
    CutReply,
    FaultyStore,
    IgnoreConditions,
    InvalidOption,
    Refuse,
    Rule,
    StaleListing,
    TruncateReply,
    Twice,
)


def truth(store: FaultyStore, key: str) -> bytes | None:
    """What really is at a key, or None."""
    try:
        return bytes(store.direct.get(key).bytes())
    except FileNotFoundError:
        return None


def test_it_has_the_methods_of_obstore() -> None:
    """Each method of obstore's stores is there, with its parameters and their defaults; when a new
    obstore has more, this fails.
    """

    def surface(cls: type) -> dict[str, list[tuple[object, ...]]]:
        return {
            name: [
                (each.name, each.kind, each.default)
                for each in inspect.signature(member).parameters.values()
            ]
            for name, member in vars(cls).items()
            if not name.startswith("_") and inspect.isfunction(member)
        }

    ours, theirs = surface(FaultyStore), surface(ObjectStoreMethods)
    assert ours == theirs
    for name in theirs:
        asynchronous = inspect.iscoroutinefunction(getattr(ObjectStoreMethods, name))
        assert inspect.iscoroutinefunction(getattr(FaultyStore, name)) == asynchronous


def test_functions_of_obstore_do_not_take_it(store: FaultyStore) -> None:
    """They would go past the rules: obstore refuses what is not its own, and nothing is done."""
    store.inject(Rule(Refuse()))
    with pytest.raises(ValueError, match="object store"):
        obstore.put(store, "x", b"1")  # type: ignore[arg-type]
    assert truth(store, "x") is None


def test_a_subclass_of_a_store_would_be_passed_by() -> None:
    """This is why it is no subclass: obstore's functions do not call what a subclass overrides."""

    class Refusing(MemoryStore):
        def put(self, *_: Any, **__: Any) -> Any:
            raise AssertionError

    refusing = Refusing()
    obstore.put(refusing, "x", b"1")
    assert bytes(refusing.get("x").bytes()) == b"1"


@pytest.mark.parametrize("kind", [MemoryStore, LocalStore])
def test_without_rules_it_is_the_store(kind: Callable[..., Any], tmp_path: Path) -> None:
    """Every operation gives what the wrapped store gives, whatever the store."""
    inner = kind(tmp_path) if kind is LocalStore else kind()
    store = FaultyStore(inner)
    assert store.put("a/x", b"0123456789")["e_tag"] == inner.head("a/x")["e_tag"]
    with pytest.raises(AlreadyExistsError):
        store.put("a/x", b"", mode="create")
    assert store.get("a/x").meta == inner.get("a/x").meta
    assert store.get("a/x", options={"range": (2, 4)}).bytes() == b"23"
    assert store.get_range("a/x", start=3, length=2) == b"34"
    assert store.get_ranges("a/x", starts=[0, 8], ends=[1, 10]) == [b"0", b"89"]
    assert store.head("a/x") == inner.head("a/x")
    store.copy("a/x", "a/y")
    store.rename("a/y", "b/y")
    assert list(store.list()) == list(inner.list())
    assert store.list_with_delimiter() == inner.list_with_delimiter()
    store.delete(["a/x", "b/y"])
    assert inner.list().collect() == []
    assert {each.fault for each in store.requests} == {None}


def test_a_rename_is_one_step_only_on_local_disk(tmp_path: Path, store: FaultyStore) -> None:
    """Elsewhere obstore copies and deletes, and what comes between can fail."""
    local = FaultyStore(LocalStore(tmp_path))
    for each in (store, local):
        each.direct.put("x", b"1")
        each.inject(Rule(Refuse(), "DELETE"))
    local.rename("x", "y")
    with pytest.raises(GenericError):
        store.rename("x", "y")
    assert [truth(local, key) for key in "xy"] == [None, b"1"]
    assert [truth(store, key) for key in "xy"] == [b"1", b"1"]
    assert [each.method for each in local.requests] == ["RENAME"]
    assert [each.method for each in store.requests] == ["COPY", "DELETE"]


def test_copies_have_conditions_that_can_be_ignored(tmp_path: Path, store: FaultyStore) -> None:
    """What may not be replaced is, on a store that ignores conditions; also by renaming."""
    local = FaultyStore(LocalStore(tmp_path))
    for each in (store, local):
        each.direct.put("x", b"1")
        each.direct.put("y", b"2")
        for location in (each.copy, each.rename):
            with pytest.raises(AlreadyExistsError):
                location("x", "y", overwrite=False)
        each.inject(Rule(IgnoreConditions()))
        each.copy("x", "y", overwrite=False)
        assert truth(each, "y") == b"1"
        each.direct.put("y", b"2")
        each.rename("x", "y", overwrite=False)
        assert [truth(each, key) for key in "xy"] == [None, b"1"]


def test_all_that_obstore_puts_can_be_put(store: FaultyStore, tmp_path: Path) -> None:
    """Bytes, views, files, paths and iterators, sync or not, arrive whole; as one request."""

    async def pieces() -> AsyncIterator[bytes]:
        yield b"0123"
        yield b"4567"

    (tmp_path / "file").write_bytes(b"01234567")
    bodies = [
        b"01234567",
        bytearray(b"01234567"),
        memoryview(b"01234567"),
        obstore.Bytes(b"01234567"),
        io.BytesIO(b"01234567"),
        tmp_path / "file",
        iter([b"0123", b"4567"]),
        [b"01234567"],
    ]
    for number, body in enumerate(bodies):
        store.put(f"{number}", body)  # type: ignore[arg-type]
        assert truth(store, f"{number}") == b"01234567"
    asyncio.run(store.put_async("async", pieces(), chunk_size=2, use_multipart=True))
    assert truth(store, "async") == b"01234567"
    assert {(each.method, each.bytes_in) for each in store.requests} == {("PUT", 8)}


def test_a_result_that_was_cut_has_the_methods_of_a_result(store: FaultyStore) -> None:
    """Each way to read it gives what came, or raises."""
    store.direct.put("x", b"0123456789")
    store.inject(Rule(TruncateReply(4, silent=True), nth=[1]))
    store.inject(Rule(TruncateReply(4), nth=[2]))
    real = store.direct.get("x")
    short, broken = store.get("x"), store.get("x")
    public = {name for name in dir(real) if not name.startswith("_")}
    assert public <= set(dir(short))
    assert short.attributes == real.attributes
    assert (broken.meta, broken.range) == (real.meta, real.range)

    async def read(result: Any) -> list[bytes]:
        whole = [await result.bytes_async(), await result.buffer_async()]
        return [*map(bytes, whole), b"".join([piece async for piece in result])]

    sync = [bytes(short.bytes()), bytes(short.buffer()), b"".join(short), b"".join(short.stream(3))]
    assert [*sync, *asyncio.run(read(short))] == [b"0123"] * 7
    for way in (broken.bytes, broken.buffer, lambda: list(broken), lambda: list(broken.stream(1))):
        with pytest.raises(GenericError, match="body error"):
            way()
    with pytest.raises(GenericError, match="body error"):
        asyncio.run(read(broken))


def test_a_listing_asks_when_it_is_read(store: FaultyStore) -> None:
    """Making the stream asks nothing; errors come from reading; chunks fit together."""
    for number in range(7):
        store.direct.put(f"{number}", b"1")
    fault = store.inject(Rule(Refuse(), "LIST", times=1))
    stream = store.list()
    assert fault.matched == 0
    with pytest.raises(GenericError, match="list request"):
        stream.collect()
    assert stream.collect() == []
    stream = store.list(chunk_size=3)
    sizes = [len(next(stream)), len(stream.collect()), len(stream.collect())]
    assert sizes == [3, 4, 0]

    async def read() -> list[int]:
        rest = store.list_async(chunk_size=5)
        return [len(chunk) async for chunk in rest] + [len(await rest.collect_async())]

    assert asyncio.run(read()) == [5, 2, 0]
    with pytest.raises(InvalidOption, match="return_arrow"):
        store.list(return_arrow=True)


def test_a_stale_listing_stays_as_it_was_whatever_callers_do_to_it(store: FaultyStore) -> None:
    """A list that a caller was given is the caller's own."""
    store.put("x", b"1")
    store.list_with_delimiter()["objects"].clear()  # type: ignore[attr-defined]
    store.list().collect().clear()
    store.inject(Rule(StaleListing()))
    store.put("y", b"1")
    assert [each["path"] for each in store.list_with_delimiter()["objects"]] == ["x"]
    assert [each["path"] for each in store.list().collect()] == ["x"]


def test_every_async_method_meets_the_rules(store: FaultyStore) -> None:
    """The twins do the same through the same rules."""
    store.direct.put("x", b"0123456789")

    async def all_of_them() -> None:
        await store.put_async("y", b"1")
        assert bytes(await (await store.get_async("x")).bytes_async()) == b"0123456789"
        assert await store.get_range_async("x", start=0, end=2) == b"01"
        assert await store.get_ranges_async("x", starts=[0], ends=[2]) == [b"01"]
        assert (await store.head_async("x"))["size"] == 10
        assert len((await store.list_with_delimiter_async())["objects"]) == 2
        assert len(await store.list_async().collect_async()) == 2
        await store.copy_async("x", "z")
        await store.rename_async("z", "w")
        await store.delete_async("w")

    asyncio.run(all_of_them())
    before = len(store.requests)
    asked = [each.method for each in store.requests]
    assert asked == [
        *["PUT", "GET", "GET", "GET", "HEAD", "LIST", "LIST", "COPY", "COPY", "DELETE", "DELETE"]
    ]
    store.inject(Rule(Answer(503)))
    for name in ("put", "get", "get_range", "get_ranges", "head", "copy", "rename", "delete"):
        arguments: dict[str, Any] = {
            "put": {"path": "x", "file": b""},
            "get_range": {"path": "x", "start": 0, "end": 1},
            "get_ranges": {"path": "x", "starts": [0], "ends": [1]},
            "copy": {"from_": "x", "to": "y"},
            "rename": {"from_": "x", "to": "y"},
            "delete": {"paths": "x"},
        }.get(name, {"path": "x"})
        with pytest.raises(GenericError, match="SlowDown"):
            asyncio.run(getattr(store, f"{name}_async")(**arguments))
    assert len(store.requests) == before + 8
    assert truth(store, "x") == b"0123456789"


def test_a_budget_lists_what_was_asked(store: FaultyStore) -> None:
    """Requests, bytes and round trips are counted as those of the gateway."""
    with store.expect(max_requests=2, max_sequential=2, max_bytes=6):
        store.put("x", b"123")
        store.get("x")
    with pytest.raises(BudgetExceeded, match="#3 PUT x: 200"), store.expect(max_requests=0):
        store.put("x", b"")
    store.forget_requests()
    assert store.requests == ()


def test_four_at_once_are_one_round_trip(store: FaultyStore) -> None:
    """Calls of one event loop overlap: none has to be over for the others to be under way."""

    async def all_at_once() -> None:
        held = store.hold("PUT", times=4)
        puts = [asyncio.ensure_future(store.put_async(f"{n}", b"1")) for n in range(4)]
        await asyncio.to_thread(held.wait, count=4)
        held.release()
        await asyncio.gather(*puts)

    with store.expect(max_requests=4, max_sequential=1):
        asyncio.run(all_at_once())


def test_the_log_tells_what_was_done(store: FaultyStore) -> None:
    """Faults, what the caller got, what the store said, conditions and keys."""
    store.inject(Rule(CutReply(), "PUT", key="a/*", nth=1))
    store.inject(Rule(Twice("second"), "PUT", key="b/*"))
    for key in ("a/x", "a/x", "b/x"):
        with pytest.raises((GenericError, AlreadyExistsError)):
            store.put(key, b"1", mode="create")
    store.list("a").collect()
    assert [(each.fault, each.status, each.store_status) for each in store.requests] == [
        ("CutReply", None, 200),
        (None, 412, 412),
        ("Twice", 412, 412),
        (None, 200, 200),
    ]
    assert [(each.key, each.operation.condition) for each in store.requests] == [
        *[("a/x", "if-none-match: *")] * 2,
        ("b/x", "if-none-match: *"),
        ("a/", None),
    ]


def test_a_rule_that_could_never_fire_is_refused(store: FaultyStore) -> None:
    """Here an upload in parts is one PUT, so that a rule about parts would say nothing."""
    with pytest.raises(InvalidOption, match=r"PUT_PART.*COPY, DELETE"):
        store.inject(Rule(Refuse(), "PUT_PART"))
    store.inject(Rule(Refuse(), ["PUT_PART", "PUT"]))
    with pytest.raises(GenericError):
        store.put("x", b"1")


def test_what_a_predicate_raises_reaches_the_caller(store: FaultyStore) -> None:
    """Nothing is done then, and the record is closed."""
    store.inject(Rule(Refuse(), predicate=lambda operation: operation.size / 0 > 1))  # type: ignore[operator]
    with pytest.raises(ZeroDivisionError):
        store.put("x", b"1")
    assert truth(store, "x") is None
    assert store.wait_until_idle(0.1)
