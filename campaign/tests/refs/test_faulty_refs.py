"""``FaultyRefs``: without rules a store of refs like any other; with them, what callers are told.

What a writer is told must be true of what was done, or be "unknown", unless a rule lies on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from campaign.refs import FaultyRefs
from omnigraph_l1 import JsonRefs, Ref, RefStore
from omnigraph_l1.errors import (
    AccessDenied,
    InvalidName,
    L1Error,
    OutcomeUnknown,
    RefChanged,
    RefExists,
    RefNotFound,
    StorageError,
    StoreUnavailable,
)
from omnigraph_testing import (
    Answer,
    Bandwidth,
    BudgetExceeded,
    CutReply,
    CutRequest,
    Delay,
    Effect,
    IgnoreConditions,
    InvalidOption,
    Refuse,
    Rule,
    StaleListing,
    TruncateReply,
    TruncateRequest,
    Twice,
)
from omnigraph_testing.contracts.refs import RefStoreContract


class TestMemory(RefStoreContract):
    """Without rules, over refs in memory."""

    @pytest.fixture
    def refs(self) -> RefStore:
        """Give an empty store."""
        return FaultyRefs(JsonRefs.in_memory())


class TestLocal(RefStoreContract):
    """Without rules, over refs on local disk, beside a handle that is not wrapped."""

    examples = 8
    rounds = 4

    @pytest.fixture
    def refs(self, tmp_path: Path) -> RefStore:
        """Give an empty store."""
        return FaultyRefs(JsonRefs.open(tmp_path, durability="none"))

    @pytest.fixture
    def other(self, refs: RefStore) -> RefStore:
        """Give what is wrapped."""
        assert isinstance(refs, FaultyRefs)
        return refs.direct


class TestHarmlessRules(RefStoreContract):
    """With rules that do no harm: delays, and readings that are asked twice."""

    examples = 8
    rounds = 4

    @pytest.fixture
    def refs(self) -> RefStore:
        """Give an empty store."""
        refs = FaultyRefs(JsonRefs.in_memory())
        refs.inject(Rule(Delay(0.001), every=3))
        refs.inject(Rule(Twice(), ["GET", "LIST"]))
        return refs


def test_it_is_a_store_of_refs(refs: FaultyRefs) -> None:
    """For the type checker and at run time."""
    store: RefStore = refs
    assert isinstance(store, RefStore)


def _create(refs: FaultyRefs, _: Ref) -> Any:
    return refs.create("new", {"x": 2}, write_id="mine")


def _replace(refs: FaultyRefs, ref: Ref) -> Any:
    return refs.replace(ref, {"x": 2}, write_id="mine")


def _delete(refs: FaultyRefs, ref: Ref) -> Any:
    return refs.delete(ref)


def _state(refs: FaultyRefs) -> dict[str, Any]:
    return {ref.name: ref.value for ref in refs.direct.list()}


WRITES = {
    "CREATE": (_create, {"old": {"x": 1}, "new": {"x": 2}}),
    "REPLACE": (_replace, {"old": {"x": 2}}),
    "DELETE": (_delete, {}),
}
BEFORE = {"old": {"x": 1}}


@pytest.mark.parametrize("method", [*WRITES])
@pytest.mark.parametrize(
    ("effect", "happens", "error"),
    [
        (Refuse(), False, StoreUnavailable),
        (CutRequest(), False, OutcomeUnknown),
        (CutReply(), True, OutcomeUnknown),
        (Answer(500), False, OutcomeUnknown),
        (Answer(503, applied=True), True, OutcomeUnknown),
        (Answer(403), False, AccessDenied),
        (Answer(400), False, StorageError),
        (Twice(), True, None),
    ],
    ids=str,
)
def test_what_the_author_of_a_write_is_told(
    refs: FaultyRefs, method: str, effect: Effect, *, happens: bool, error: type[L1Error] | None
) -> None:
    """A lost reply is "unknown" with the write id, whether it happened or not; any other error
    says that it did not, and it did not.
    """
    write, after = WRITES[method]
    old = refs.create("old", {"x": 1})
    fault = refs.inject(Rule(effect, method))
    if error is None:
        write(refs, old)
    else:
        with pytest.raises(error) as caught:
            write(refs, old)
        assert type(caught.value) is error
        if isinstance(caught.value, OutcomeUnknown):
            assert caught.value.write_id == (old.write_id if method == "DELETE" else "mine")
    assert fault.fired == 1
    assert _state(refs) == (after if happens else BEFORE)


@pytest.mark.parametrize("method", [*WRITES])
@pytest.mark.parametrize("status", [409, 412])
def test_an_untrue_conflict(refs: FaultyRefs, method: str, status: int) -> None:
    """The caller is told that somebody was first; nobody was, and nothing has changed."""
    write, _ = WRITES[method]
    old = refs.create("old", {"x": 1})
    refs.inject(Rule(Answer(status), method))
    with pytest.raises(RefExists if method == "CREATE" else RefChanged) as caught:
        write(refs, old)
    if isinstance(caught.value, RefChanged):
        assert caught.value.expected == old.write_id
        assert caught.value.found not in {old.write_id, "mine"}
    assert _state(refs) == BEFORE


@pytest.mark.parametrize("method", [*WRITES])
def test_a_write_can_conflict_with_itself(refs: FaultyRefs, method: str) -> None:
    """The effect, and a conflict: what the author is told of is its own doing."""
    write, after = WRITES[method]
    old = refs.create("old", {"x": 1})
    refs.inject(Rule(Answer(412, applied=True), method))
    expected = {"CREATE": RefExists, "REPLACE": RefChanged, "DELETE": RefNotFound}[method]
    with pytest.raises(expected) as caught:
        write(refs, old)
    if isinstance(caught.value, RefChanged):
        assert caught.value.found == "mine"
    assert _state(refs) == after


def test_json_refs_know_a_write_that_is_delivered_twice(refs: FaultyRefs) -> None:
    """By its id: the second delivery is told that it is done. A deletion has no id."""
    refs.inject(Rule(Twice("second")))
    old = refs.create("old", {"x": 1}, write_id="mine")
    new = refs.replace(old, {"x": 2}, write_id="mine, too")
    assert (old.write_id, new.write_id) == ("mine", "mine, too")
    assert _state(refs) == {"old": {"x": 2}}
    with pytest.raises(RefNotFound):
        refs.delete(new)
    assert _state(refs) == {}


@pytest.mark.parametrize(
    "read",
    [lambda r: r.get("old"), lambda r: r.list(), lambda r: r.wrote("old", "w")],
    ids=["get", "list", "wrote"],
)
@pytest.mark.parametrize(
    ("effect", "error"),
    [
        (Refuse(), StoreUnavailable),
        (CutRequest(), StoreUnavailable),
        (CutReply(), StoreUnavailable),
        (Answer(500), StoreUnavailable),
        (Answer(401), AccessDenied),
        (Answer(412), StorageError),
    ],
    ids=str,
)
def test_what_a_reader_is_told(
    refs: FaultyRefs, read: Callable[[FaultyRefs], Any], effect: Effect, error: type[L1Error]
) -> None:
    """A reading that does not come about is an error of the store, and never "not there"."""
    refs.create("old", {"x": 1}, write_id="w")
    refs.inject(Rule(effect, ["GET", "LIST"], times=1))
    with pytest.raises(error) as caught:
        read(refs)
    assert type(caught.value) is error
    assert caught.value.location == "memory"
    assert read(refs)


def test_what_is_said_not_to_be_there(refs: FaultyRefs) -> None:
    """A 404 is what a store says of a ref that it does not have; it can be untrue."""
    old = refs.create("old", {"x": 1}, write_id="w")
    rule = refs.inject(Rule(Answer(404)))
    assert refs.get("old") is None
    assert refs.list() == ()
    assert not refs.wrote("old", "w")
    for write in (_replace, _delete):
        with pytest.raises(RefNotFound):
            write(refs, old)
    with pytest.raises(StorageError):
        refs.create("new", {})
    rule.remove()
    assert refs.get("old") == old


def test_stale_readings_say_what_was_said_before(refs: FaultyRefs) -> None:
    """Of a ref, of a list, and of what was not there; what was never asked is told truly, and that
    is what is said of it from then on.
    """
    old = refs.create("old", {"x": 1})
    seen = refs.get("old"), refs.get("new"), refs.list(), refs.list("o")
    rule = refs.inject(Rule(StaleListing()))
    changed = refs.replace(old, {"x": 2})
    new = refs.create("new", {})
    unasked = refs.create("unasked", {})
    assert (refs.get("old"), refs.get("new"), refs.list(), refs.list("o")) == seen
    assert refs.get("unasked") == unasked
    with pytest.raises(RefChanged):
        refs.replace(old, {"x": 3})
    refs.delete(unasked)
    assert refs.get("unasked") == unasked
    rule.remove()
    assert (refs.get("old"), refs.get("new"), refs.get("unasked")) == (changed, new, None)


def test_an_error_is_no_answer_that_could_be_stale(refs: FaultyRefs) -> None:
    """What was said before is the last good answer, also if the store failed since."""
    outer = FaultyRefs(refs)
    assert outer.list() == ()
    with refs.down(), pytest.raises(StoreUnavailable):
        outer.list()
    outer.inject(Rule(StaleListing()))
    refs.create("new", {})
    assert outer.list() == ()


def test_without_conditions_everybody_wins(refs: FaultyRefs) -> None:
    """Creating what exists, replacing and deleting what has changed: all are told of success."""
    refs.inject(Rule(IgnoreConditions()))
    first = refs.create("old", {"x": 1})
    second = refs.create("old", {"x": 2})
    third = refs.replace(first, {"x": 3}, write_id="third")
    assert third.write_id == "third"
    assert refs.direct.get("old") == third
    refs.delete(second)
    assert refs.direct.list() == ()
    refs.delete(second)
    assert refs.replace(first, {"x": 4}).value == {"x": 4}


def test_without_conditions_a_race_is_won_in_the_end(refs: FaultyRefs) -> None:
    """Whoever writes in between does not stop it."""
    outer = FaultyRefs(refs)
    outer.inject(Rule(IgnoreConditions()))
    refs.inject(Rule(Answer(412), ["CREATE", "REPLACE", "DELETE"], nth=[1, 3, 5]))
    made = outer.create("new", {"x": 1})
    made = outer.replace(made, {"x": 2})
    assert _state(refs) == {"new": {"x": 2}}
    outer.delete(made)
    assert _state(refs) == {}
    assert [each.status for each in refs.requests if each.status == 412] == [412] * 3


def test_a_store_that_is_down_certainly_did_nothing(refs: FaultyRefs) -> None:
    """Reading and writing are StoreUnavailable, and nothing is recorded."""
    with refs.down():
        for ask in (lambda: refs.get("x"), lambda: refs.create("x", {}), refs.list):
            with pytest.raises(StoreUnavailable):
                ask()
    assert refs.requests == ()
    assert refs.get("x") is None


def test_rules_about_bytes_are_refused(refs: FaultyRefs) -> None:
    """There are none here: a rule that could do nothing would prove nothing."""
    for effect in (Bandwidth(1), TruncateReply(1), TruncateRequest(1)):
        with pytest.raises(InvalidOption, match="bytes on a wire"):
            refs.inject(Rule(effect))
    with pytest.raises(InvalidOption, match="CREATE, DELETE, GET"):
        refs.inject(Rule(Refuse(), "PUT"))


def test_the_log_and_budgets(refs: FaultyRefs) -> None:
    """Each call is one request, by name and with its condition."""
    with refs.expect(max_requests=5):
        old = refs.create("a/b", {})
        refs.get("a/b")
        refs.list("a/")
        new = refs.replace(old, {})
        refs.delete(new)
    assert [(each.method, each.key, each.operation.condition) for each in refs.requests] == [
        ("CREATE", "a/b", "if-none-match: *"),
        ("GET", "a/b", None),
        ("LIST", "a/", None),
        ("REPLACE", "a/b", f"if-match: {old.write_id}"),
        ("DELETE", "a/b", f"if-match: {new.write_id}"),
    ]
    with pytest.raises(BudgetExceeded), refs.expect(max_requests=0):
        refs.get("a/b")
    with pytest.raises(RefNotFound):
        refs.delete(new)
    with pytest.raises(InvalidName):
        refs.get("")
    assert [each.status for each in refs.requests[-2:]] == [404, 400]


def test_refs_count_what_acted() -> None:
    """Of refs every change has a condition, no reading has one, and readings can be stale."""
    refs = FaultyRefs(JsonRefs.in_memory())
    ref = refs.create("main", {"n": 0})
    ignored = refs.inject(Rule(IgnoreConditions()))
    refs.get("main")
    refs.list()
    assert (ignored.fired, ignored.matched) == (0, 2)
    stale = refs.inject(Rule(StaleListing()))
    refs.replace(ref, {"n": 1})
    assert (ignored.fired, stale.fired) == (1, 0)
    found = refs.get("main")
    assert found is not None
    assert found.value == {"n": 0}
    assert stale.fired == 1


def test_a_predicate_of_refs_may_ask_them() -> None:
    """What it asks is a request like any other."""
    refs = FaultyRefs(JsonRefs.in_memory())
    refs.create("a", {})
    refs.inject(Rule(Refuse(), "CREATE", predicate=lambda _: refs.get("a") is not None))
    with pytest.raises(StoreUnavailable):
        refs.create("b", {})
    assert [each.method for each in refs.requests] == ["CREATE", "CREATE", "GET"]
