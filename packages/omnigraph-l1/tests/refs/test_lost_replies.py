"""Whatever happens to requests and replies, what a writer is told of its write is true.

A store is simulated that applies requests atomically, but loses replies, delivers requests twice
and lets those that their client gave up on arrive later. What was really applied is on record.

White-box: the store is simulated behind the private interface of backends, so that hundreds of
drawn plans and fates can be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from functools import partial

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_l1 import JsonRefs, Ref
from omnigraph_l1._refs import json_refs
from omnigraph_l1._refs.memory_backend import MemoryBackend
from omnigraph_l1._refs.ref_backend import ConditionFailed, ReplyLost, Stored
from omnigraph_l1._refs.ref_document import REMEMBERED, parse
from omnigraph_l1._storage.location import ProcessGuard
from omnigraph_l1.errors import (
    L1Error,
    OutcomeUnknown,
    RefChanged,
    RefExists,
    RefNotFound,
    StorageError,
    StoreUnavailable,
)

NAME = "main"


class Fate(Enum):
    """What happens to one request."""

    DONE = "done"
    REPLY_LOST = "applied, and the reply is lost"
    REQUEST_LOST = "lost"
    LATE = "given up by the client, and arrives later"
    TWICE = "delivered twice, and the second reply arrives"
    REFUSED = "not sent, because no connection is made"
    UNTRUE = "not applied, and answered with an untrue refusal"
    READ_FAILS = "done, and the next reading fails"


@attrs.define
class Unreliable:
    """A store with tombstones whose next requests have the given fates."""

    fates: Iterator[Fate]
    keeps_tombstones: bool = True
    attempts: int = 3
    seconds: float = 60.0
    inner: MemoryBackend = attrs.field(factory=MemoryBackend)
    applied: list[str] = attrs.field(factory=list)
    late: list[tuple[str, bytes, str | None]] = attrs.field(factory=list)
    reading_fails: int = 0
    before_reading: Callable[[], None] | None = None
    """What others do before the next reading."""

    def read(self, file_name: str) -> Stored | None:
        """Read, unless it was said that this fails."""
        others, self.before_reading = self.before_reading, None
        if others is not None:
            others()
        if self.reading_fails:
            self.reading_fails -= 1
            raise StoreUnavailable(location="here", detail="reading fails")
        return self.inner.read(file_name)

    def write(self, file_name: str, data: bytes, expected: str | None) -> str:
        """Let the next fate happen to a conditional PUT."""
        fate = next(self.fates, Fate.DONE)
        if fate in {Fate.DONE, Fate.READ_FAILS}:
            self.reading_fails += fate is Fate.READ_FAILS
            return self._apply(file_name, data, expected)
        if fate is Fate.REFUSED:
            raise StoreUnavailable(location="here", detail="connection refused")
        if fate is Fate.UNTRUE:
            raise ConditionFailed
        if fate is Fate.LATE:
            self.late.append((file_name, data, expected))
        elif fate in {Fate.REPLY_LOST, Fate.TWICE}:
            try:
                self._apply(file_name, data, expected)
            except ConditionFailed:
                if fate is Fate.TWICE:
                    raise
            else:
                if fate is Fate.TWICE:
                    raise ConditionFailed
        raise ReplyLost(StorageError(location="here", detail=fate.value))

    def arrive(self, which: int) -> None:
        """Let a request arrive that its client gave up on."""
        if self.late:
            with suppress(ConditionFailed):
                self._apply(*self.late.pop(which % len(self.late)))

    def remove(self, file_name: str, expected: str) -> None:
        """Never called."""
        raise NotImplementedError

    def marks(self) -> dict[str, str | None]:
        """List."""
        return self.inner.marks()

    def probe(self) -> None:
        """Never called."""
        raise NotImplementedError

    def _apply(self, file_name: str, data: bytes, expected: str | None) -> str:
        token = self.inner.write(file_name, data, expected)
        self.applied.append(parse("here", NAME, data, token).write_id)
        return token


def _refs(backend: Unreliable) -> JsonRefs:
    return JsonRefs("here", backend=backend, recipe=None, guard=ProcessGuard("refs"))


@contextmanager
def _no_pauses() -> Iterator[None]:
    before, json_refs._FIRST_PAUSE = json_refs._FIRST_PAUSE, 0.0
    try:
        yield
    finally:
        json_refs._FIRST_PAUSE = before


_ACTIONS = ["create", "replace", "replace_old", "delete", "arrive", "meddle"]
_plans = st.lists(st.tuples(st.sampled_from(_ACTIONS), st.integers(0, 3)), min_size=1, max_size=25)


@attrs.define
class Writer:
    """Does one thing after the other, and notes what it is told."""

    backend: Unreliable
    refs: JsonRefs
    readings: list[Ref] = attrs.field(factory=list)
    done: list[str] = attrs.field(factory=list)
    not_done: list[str] = attrs.field(factory=list)

    def act(self, action: str, pick: int, write_id: str) -> None:
        """Do one thing, and note what is told of it."""
        if action == "arrive":
            self.backend.arrive(pick)
        elif action == "create" or self.readings:
            self._write(action, pick, write_id)

    def _write(self, action: str, pick: int, write_id: str) -> None:
        try:
            if action == "create":
                self.readings.append(self.refs.create(NAME, {}, write_id=write_id))
            elif action == "delete":
                self.refs.delete(self.readings[-1])
                return
            else:
                at = -1 if action == "replace" else -1 - pick % len(self.readings)
                made = self.refs.replace(self.readings[at], {"by": write_id}, write_id=write_id)
                self.readings.append(made)
        except OutcomeUnknown:
            self.read_again()
        except (RefExists, RefChanged, RefNotFound, StorageError):
            self.not_done.append(write_id)
            self.read_again()
        else:
            self.done.append(write_id)

    def read_again(self) -> None:
        """Look at the ref."""
        self.backend.reading_fails = 0
        found = self.refs.get(NAME)
        self.readings.extend([] if found is None else [found])


@settings(max_examples=400)
@given(st.lists(st.sampled_from(Fate), max_size=40), _plans)
def test_what_a_writer_is_told_is_true(fates: list[Fate], plan: list[tuple[str, int]]) -> None:
    """Done means that it happened once; an error other than OutcomeUnknown means that it did not,
    and never does, however late its requests arrive; and writes follow on each other in one line.
    """
    backend = Unreliable(iter(fates))
    writer, meddler = (Writer(backend, _refs(backend)) for _ in range(2))

    def meddle(action: str, write_id: str) -> None:
        meddler.read_again()
        meddler.act(action, 0, write_id)

    with _no_pauses():
        for number, (action, pick) in enumerate(plan):
            if action == "meddle":
                what = ["create", "replace", "delete", "replace"][pick]
                backend.before_reading = partial(meddle, what, f"meddling-{number}")
            else:
                writer.act(action, pick, f"write-{number}")
    while backend.late:
        backend.arrive(0)
    for each in (writer, meddler):
        assert not set(each.done) - set(backend.applied)
        assert not set(each.not_done) & set(backend.applied)
    assert len(set(backend.applied)) == len(backend.applied)
    stored = backend.inner.read(f"{NAME}.json")
    in_line = [] if stored is None else parse("here", NAME, stored.data, "").writes
    assert list(in_line) == backend.applied[::-1][: REMEMBERED + 1]


@pytest.mark.parametrize(
    ("fates", "expected"),
    [
        ([Fate.REPLY_LOST], None),
        ([Fate.REQUEST_LOST, Fate.DONE], None),
        ([Fate.LATE, Fate.DONE], None),
        ([Fate.TWICE], None),
        ([Fate.REFUSED, Fate.DONE], None),
        ([Fate.UNTRUE, Fate.DONE], None),
        ([Fate.REFUSED] * 3, StoreUnavailable),
        ([Fate.UNTRUE] * 3, StorageError),
        ([Fate.LATE, Fate.REFUSED, Fate.REFUSED], OutcomeUnknown),
        ([Fate.REQUEST_LOST] * 3, OutcomeUnknown),
        ([Fate.LATE] * 3, OutcomeUnknown),
    ],
    ids=lambda value: str(value)[:60],
)
def test_each_fate_of_a_creation(fates: list[Fate], expected: type[L1Error] | None) -> None:
    """A creation comes out as done, as not done, or as unknown, as each fate demands."""
    backend = Unreliable(iter(fates))
    refs = _refs(backend)
    with _no_pauses():
        if expected is None:
            made = refs.create(NAME, {"x": 1})
            assert refs.get(NAME) == made
            assert refs.replace(made, {"x": 2}).follows(made.write_id)
            return
        with pytest.raises(expected) as caught:
            refs.create(NAME, {"x": 1}, write_id="mine")
    assert type(caught.value) is expected
    assert not refs.wrote(NAME, "mine")
    while backend.late:
        backend.arrive(0)
    assert refs.wrote(NAME, "mine") == (Fate.LATE in fates)


def test_a_write_that_others_went_on_from_is_recognised() -> None:
    """A reply is lost, and before the author looks, somebody replaces what it wrote, and deletes
    that: the author is told that its write happened.
    """
    backend = Unreliable(iter([Fate.DONE, Fate.REPLY_LOST]))
    author, other = _refs(backend), _refs(backend)
    first = author.create(NAME, {})

    def go_on() -> None:
        found = other.get(NAME)
        assert found is not None
        other.delete(other.replace(found, {"by": "other"}))

    backend.before_reading = go_on
    made = author.replace(first, {"by": "author"}, write_id="mine")
    assert made.write_id == "mine"
    assert author.get(NAME) is None
    assert author.wrote(NAME, "mine")
    with pytest.raises(RefNotFound):
        author.replace(made, {})


@pytest.mark.parametrize(
    ("fate", "expected"), [(Fate.REQUEST_LOST, OutcomeUnknown), (Fate.UNTRUE, RefChanged)]
)
def test_a_write_that_is_long_past(fate: Fate, expected: type[L1Error]) -> None:
    """Where so many have written since that nobody remembers, a write whose reply was lost is
    unknown; one that was refused in plain words lost its race.
    """
    backend = Unreliable(iter([Fate.DONE, fate]))
    author, other = _refs(backend), _refs(backend)
    first = author.create(NAME, {})

    def go_on() -> None:
        for number in range(REMEMBERED + 2):
            found = other.get(NAME)
            assert found is not None
            other.replace(found, {"n": number})

    backend.before_reading = go_on
    with pytest.raises(expected):
        author.replace(first, {"by": "author"})


def test_looking_back_may_fail_too() -> None:
    """Where the reply is lost and looking back fails as well, the outcome is unknown, with the id
    by which it can be found out later; and it is.
    """
    backend = Unreliable(iter([Fate.REPLY_LOST]), reading_fails=1)
    refs = _refs(backend)
    with pytest.raises(OutcomeUnknown) as caught:
        refs.create(NAME, {"x": 1})
    assert refs.wrote(NAME, caught.value.write_id)
