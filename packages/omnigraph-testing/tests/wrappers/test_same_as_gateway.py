"""Over one S3 server, a ``FaultyStore`` tells its caller what the HTTP gateway lets obstore tell.

For each effect and each operation: the same value or the same class of error, the same objects
afterwards, and the same entry in the log. obstore is set to try once, as a wrapper does.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeAlias

import attrs
import obstore.store
import pytest
from obstore.exceptions import GenericError

from omnigraph_testing import (
    Answer,
    Bandwidth,
    CutReply,
    CutRequest,
    Delay,
    Effect,
    FaultyS3,
    FaultyStore,
    IgnoreConditions,
    Refuse,
    Request,
    Rule,
    S3Store,
    StaleListing,
    TruncateReply,
    TruncateRequest,
    Twice,
)

Store: TypeAlias = "obstore.store.S3Store | FaultyStore"


@attrs.frozen
class Told:
    """What came of an operation for the one who asked: a value, or the class of an error."""

    value: Any = None
    error: type[BaseException] | None = None


def told(ask: Callable[[Store], Any], store: Store) -> Told:
    """Ask, and tell what came of it."""
    try:
        return Told(ask(store))
    except Exception as error:  # noqa: BLE001 - whatever it is, both must raise it
        return Told(error=type(error))


class Pair:
    """Two stores with the same objects, and the same rules before both."""

    def __init__(self, faulty: FaultyS3, name: str, objects: dict[str, bytes]) -> None:
        self.faulty = faulty
        self.truths = [faulty.direct.below(f"{name}-{side}").obstore() for side in ("http", "own")]
        for truth in self.truths:
            for key, data in objects.items():
                truth.put(key, data)
        self.http = _client_that_tries_once(faulty.store.below(f"{name}-http"))
        self.own = FaultyStore(self.truths[1], timeout=10)

    def inject(self, rule: Rule) -> None:
        """Put a rule before both."""
        self.faulty.inject(rule)
        self.own.inject(rule)

    def ask(self, question: Callable[[Store], Any]) -> tuple[Told, Told]:
        """Ask both."""
        return told(question, self.http), told(question, self.own)

    def logs(self) -> tuple[list[Request], list[Request]]:
        """Return what both have recorded."""
        return list(self.faulty.requests), list(self.own.requests)

    def states(self) -> list[dict[str, bytes]]:
        """Return what both hold."""
        return [
            {path: bytes(truth.get(path).bytes()) for path in _paths(truth.list().collect())}
            for truth in self.truths
        ]


def _client_that_tries_once(store: S3Store) -> obstore.store.S3Store:
    kwargs: dict[str, Any] = {
        "config": store.obstore_kwargs["config"],
        "client_options": {"allow_http": True, "timeout": "10s"},
        "retry_config": {"max_retries": 0, "retry_timeout": timedelta(seconds=10)},
    }
    return obstore.store.S3Store.from_url(store.uri(), **kwargs)


@pytest.fixture
def pair(faulty_s3: FaultyS3) -> Callable[[dict[str, bytes]], Pair]:
    """Make pairs, each under a prefix of its own, with no rule and an empty log."""
    numbers = itertools.count()

    def make(objects: dict[str, bytes]) -> Pair:
        made = Pair(faulty_s3, f"pair-{next(numbers)}", objects)
        faulty_s3.clear()
        faulty_s3.forget_requests()
        return made

    return make


OBJECTS = {"a/old": b"abcdefghij", "a/b/other": b"0123456789"}
BODY = b"klmnopqrst"


def _read(found: Any) -> Any:
    return bytes(found.bytes()), found.meta["size"], found.range


def _paths(listed: Iterable[Any]) -> list[str]:
    return sorted(each["path"] for each in listed)


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "put": lambda s: s.put("a/new", BODY),
    "put over": lambda s: s.put("a/old", BODY),
    "create": lambda s: s.put("a/new", BODY, mode="create"),
    "create what exists": lambda s: s.put("a/old", BODY, mode="create"),
    "swap": lambda s: s.put("a/old", BODY, mode={"e_tag": s.head("a/old")["e_tag"]}),
    "swap what changed": lambda s: s.put("a/old", BODY, mode={"e_tag": '"other"'}),
    "get": lambda s: _read(s.get("a/old")),
    "get what is not there": lambda s: _read(s.get("a/no")),
    "get a range": lambda s: _read(s.get("a/old", options={"range": (2, 9)})),
    "get if it matches": lambda s: _read(s.get("a/old", options={"if_match": '"other"'})),
    "get in pieces": lambda s: b"".join(s.get("a/old").stream(min_chunk_size=1)),
    "get_range": lambda s: bytes(s.get_range("a/old", start=1, end=9)),
    "get_ranges": lambda s: [
        bytes(part) for part in s.get_ranges("a/old", starts=[0, 3], lengths=[2, 7])
    ],
    "head": lambda s: s.head("a/old")["size"],
    "head what is not there": lambda s: s.head("a/no")["size"],
    "list": lambda s: _paths(s.list("a").collect()),
    "list in chunks": lambda s: [_paths(chunk) for chunk in s.list(chunk_size=1)],
    "list_with_delimiter": lambda s: _paths(s.list_with_delimiter("a")["objects"]),
    "delete": lambda s: s.delete("a/old"),
    "delete many": lambda s: s.delete(["a/old", "a/b/other"]),
    "copy": lambda s: s.copy("a/old", "a/new"),
    "copy what is not there": lambda s: s.copy("a/no", "a/new"),
    "rename": lambda s: s.rename("a/old", "a/new"),
}
EFFECTS: list[Effect | None] = [
    None,
    Refuse(),
    CutRequest(),
    CutReply(),
    CutReply(by="close"),
    CutRequest(by="close"),
    Twice(),
    Twice("second"),
    IgnoreConditions(),
    Delay(0.001),
    Delay(0.001, at="after"),
    Bandwidth(1_000_000),
    StaleListing(),
    TruncateRequest(4),
    TruncateRequest(4, silent=True),
    TruncateReply(4),
    TruncateReply(4, silent=True),
    TruncateReply(10),
    *(Answer(status) for status in (400, 401, 403, 404, 409, 412, 416, 500, 503)),
    *(Answer(status, applied=True) for status in (404, 412, 500)),
]


def _record(request: Request) -> tuple[object, ...]:
    """What both logs say alike: over S3 every deletion is one of many, and parts have a status.

    Over S3 listings and errors are documents, which a thin line makes slow; a wrapper has no such.
    """
    return (
        request.method.replace("DELETE_MANY", "DELETE"),
        200 if request.status == 206 else request.status,
        200 if request.store_status == 206 else request.store_status,
        [name for name in request.faults if name != "Bandwidth"],
        (request.operation.condition or "").split(":")[0],
    )


@pytest.mark.parametrize("effect", EFFECTS, ids=str)
def test_each_operation_meets_each_effect_in_the_same_way(pair: Any, effect: Effect | None) -> None:
    """Values, classes of errors, objects and logs are the same."""
    for name, operation in OPERATIONS.items():
        both = pair(OBJECTS)
        if effect is not None:
            # A swap first asks what is there, which is not what this is about.
            both.inject(Rule(effect, nth=2 if name == "swap" else None))
        through_http, without = both.ask(operation)
        assert without == through_http, name
        in_http, in_own = both.states()
        assert in_own == in_http, name
        http_log, own_log = both.logs()
        assert list(map(_record, own_log)) == list(map(_record, http_log)), name


@pytest.mark.parametrize("at", ["before", "after"])
@pytest.mark.parametrize("name", ["put", "create", "copy", "delete"])
def test_what_was_given_up_has_its_effect_later_in_the_same_way(
    pair: Any, name: str, at: str
) -> None:
    """A caller that is cut off hears of it at once; on release the request takes effect."""
    both = pair(OBJECTS)
    holds = [each.hold(at=at, cut=True) for each in (both.faulty, both.own)]
    through_http, without = both.ask(OPERATIONS[name])
    assert through_http.error is GenericError
    assert without == through_http
    meanwhile = both.states()
    assert meanwhile[0] == meanwhile[1]
    assert (meanwhile[0] == OBJECTS) == (at == "before")
    for held in holds:
        held.wait()
        held.release()
    assert both.faulty.wait_until_idle()
    assert both.own.wait_until_idle()
    in_http, in_own = both.states()
    assert in_own == in_http != OBJECTS
    http_log, own_log = both.logs()
    assert list(map(_record, own_log)) == list(map(_record, http_log))


def test_a_stale_listing_is_the_same(pair: Any) -> None:
    """What both say is what they said before, of what was asked; then the truth again."""
    both = pair(OBJECTS)
    asked = [OPERATIONS["list"], OPERATIONS["list_with_delimiter"]]
    before = [both.ask(each) for each in asked]
    both.inject(Rule(StaleListing()))
    both.ask(OPERATIONS["rename"])
    stale = [both.ask(each) for each in [*asked, OPERATIONS["list in chunks"]]]
    assert stale[:2] == before
    assert stale[2] == (Told([["a/b/other"], ["a/new"]]),) * 2
    both.faulty.clear()
    both.own.clear()
    after = [both.ask(each) for each in asked]
    assert all(one == other for one, other in after)
    assert after != before


def test_a_store_that_is_down_looks_the_same(pair: Any) -> None:
    """Every operation raises the same class, nothing is recorded, and then it works again."""
    both = pair(OBJECTS)
    with both.faulty.down(), both.own.down():
        for name, operation in OPERATIONS.items():
            assert both.ask(operation) == (Told(error=GenericError),) * 2, name
    assert both.logs() == ([], [])
    assert both.ask(OPERATIONS["get"]) == (Told((OBJECTS["a/old"], 10, (0, 10))),) * 2


@pytest.mark.parametrize("seed", range(3))
def test_a_hundred_operations_under_random_rules_are_the_same(pair: Any, seed: int) -> None:
    """Rules are drawn at random, with every kind of schedule; each step is compared."""
    choices = random.Random(seed)
    both = pair(OBJECTS)
    for _ in range(6):
        schedule = choices.choice(
            [
                {"probability": 0.4, "seed": choices.random()},
                {"nth": [2, 3, 5, 8]},
                {"every": 3, "after": 2},
                {"times": 4},
            ]
        )
        method = choices.choice([None, "PUT", ["GET", "HEAD"], "LIST", "COPY"])
        effect = choices.choice([each for each in EFFECTS if not isinstance(each, Bandwidth)][1:])
        both.inject(Rule(effect, method, **schedule))
    for number in range(100):
        name = choices.choice([*OPERATIONS])
        through_http, without = both.ask(OPERATIONS[name])
        assert without == through_http, f"{name}, step {number}"
        if number % 10 == 9:
            for truth in both.truths:
                truth.put("a/old", OBJECTS["a/old"])
    in_http, in_own = both.states()
    assert in_own == in_http
    http_log, own_log = both.logs()
    assert list(map(_record, own_log)) == list(map(_record, http_log))
    assert len({each.fault for each in own_log}) > 3


def test_where_obstore_panics_a_wrapper_raises(pair: Any) -> None:
    """Of a short reply that does not say so, a part that begins beyond it is an error."""
    both = pair(OBJECTS)
    both.inject(Rule(TruncateReply(2, silent=True), "GET"))
    with pytest.raises(BaseException, match="range start must not be greater") as caught:
        OPERATIONS["get_ranges"](both.http)
    assert type(caught.value).__name__ == "PanicException"
    assert told(OPERATIONS["get_ranges"], both.own) == Told(error=GenericError)
