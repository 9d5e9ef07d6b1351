"""The contract of every store of refs.

    class TestMyRefs(RefStoreContract):
        @pytest.fixture
        def refs(self):
            return MyRefs(...)          # empty, and used by this test only

Invariant: it uses public names of omnigraph_l1 only, and what it is given only through
``RefStore``. Not here: what happens when processes die or replies are lost; that needs the real
backend.
"""

# ruff: noqa: S101, PLR2004 - these are tests, to be run by others

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph_testing._extras import needs_graph
from omnigraph_testing.contracts._refs_machine import run_against_model

with needs_graph("omnigraph_testing.contracts.refs"):
    from omnigraph_l1 import Ref, RefStore
    from omnigraph_l1.errors import BadInput, InvalidName, RefChanged, RefExists, RefNotFound

__all__ = ["RefStoreContract", "ref_names", "ref_values"]


_T = TypeVar("_T")

_segments = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/"), min_size=1, max_size=12
).filter(lambda segment: segment not in {".", ".."})
_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
_keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=10).filter(
    lambda key: key not in {"write_id", "earlier_writes", "deleted"}
)


def ref_names() -> st.SearchStrategy[str]:
    """Names that every store of refs takes: segments of any script, with slashes between."""
    return st.lists(_segments, min_size=1, max_size=3).map("/".join)


def ref_values() -> st.SearchStrategy[dict[str, Any]]:
    """Values that every store of refs takes: JSON objects."""
    nested = st.recursive(
        _scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
        max_leaves=8,
    )
    return st.dictionaries(_keys, nested, max_size=4)


class RefStoreContract:
    """What must hold of a store of refs. Override ``refs``; ``other`` where there can be two."""

    examples = 25
    """How many examples hypothesis tries in each property."""
    racers = 8
    """How many threads race."""
    rounds = 10
    """How often they race."""

    @pytest.fixture
    def refs(self) -> RefStore:
        """Return an empty store."""
        raise NotImplementedError

    @pytest.fixture
    def other(self, refs: RefStore) -> RefStore:
        """Return another handle on the same store."""
        return refs

    def test_what_was_never_made_is_not_there(self, refs: RefStore) -> None:
        """Getting a ref that was never made returns None, and the list is empty."""
        assert refs.get("nobody") is None
        assert refs.list() == ()

    def test_what_was_created_is_there(self, refs: RefStore, other: RefStore) -> None:
        """A created ref is read back, value and write id, through any handle."""
        made = refs.create("main", {"head": 1})
        assert made.name == "main"
        assert made.value == {"head": 1}
        for handle in (refs, other):
            found = handle.get("main")
            assert found == made
            assert found is not None
            assert found.write_id == made.write_id

    def test_creating_twice_is_refused(self, refs: RefStore, other: RefStore) -> None:
        """The second creation is RefExists, which names the ref, and changes nothing."""
        made = refs.create("main", {"head": 1})
        with pytest.raises(RefExists) as caught:
            other.create("main", {"head": 2})
        assert caught.value.name == "main"
        assert refs.get("main") == made

    def test_replacing_what_was_read(self, refs: RefStore, other: RefStore) -> None:
        """Replacing a ref that is as it was read changes it, for everybody, again and again."""
        ref = refs.create("main", {"head": 0})
        seen = {ref.write_id}
        for head in range(1, 25):
            ref = (refs, other)[head % 2].replace(ref, {"head": head})
            assert ref.value == {"head": head}
            assert other.get("main") == ref
            seen.add(ref.write_id)
        assert len(seen) == 25

    def test_replacing_what_has_changed_is_refused(self, refs: RefStore, other: RefStore) -> None:
        """A ref that was changed is RefChanged, with both write ids, and stays as it is."""
        old = refs.create("main", {"head": 1})
        new = other.replace(old, {"head": 2})
        with pytest.raises(RefChanged) as caught:
            refs.replace(old, {"head": 3})
        assert (caught.value.expected, caught.value.found) == (old.write_id, new.write_id)
        assert refs.get("main") == new

    def test_equal_values_are_told_apart(self, refs: RefStore) -> None:
        """A ref that was changed and changed back is not what was read."""
        first = refs.create("main", {"head": 1})
        refs.replace(refs.replace(first, {"head": 2}), {"head": 1})
        with pytest.raises(RefChanged):
            refs.replace(first, {"head": 3})
        with pytest.raises(RefChanged):
            refs.delete(first)

    def test_deleting_what_was_read(self, refs: RefStore, other: RefStore) -> None:
        """A deleted ref is gone for everybody: not read, not listed, not replaced, not deleted."""
        ref = refs.create("main", {"head": 1})
        refs.delete(ref)
        assert other.get("main") is None
        assert other.list() == ()
        with pytest.raises(RefNotFound):
            other.replace(ref, {"head": 2})
        with pytest.raises(RefNotFound):
            other.delete(ref)
        assert refs.get("main") is None

    def test_deleting_what_has_changed_is_refused(self, refs: RefStore) -> None:
        """Deleting by an old reading is RefChanged, and the ref stays."""
        old = refs.create("main", {"head": 1})
        new = refs.replace(old, {"head": 2})
        with pytest.raises(RefChanged):
            refs.delete(old)
        assert refs.get("main") == new

    def test_a_deleted_name_can_be_used_again(self, refs: RefStore, other: RefStore) -> None:
        """After a deletion the name is free, and readings of its former life do not fit the new."""
        for life in range(3):
            ref = refs.create("main", {"life": life})
            refs.delete(ref)
            again = other.create("main", {"life": life, "again": True})
            assert refs.list() == (again,)
            with pytest.raises(RefChanged):
                refs.replace(ref, {})
            with pytest.raises(RefChanged):
                refs.delete(ref)
            with pytest.raises(RefExists):
                refs.create("main", {})
            other.delete(again)

    def test_the_list_is_sorted_and_goes_by_prefix(self, refs: RefStore) -> None:
        """Every ref is listed once, by name; a prefix is any beginning of names."""
        names = ["b", "a/x", "a/y/z", "a", "ab", "%2F", "ü", "人/b"]
        made = {name: refs.create(name, {"of": name}) for name in names}
        assert [ref.name for ref in refs.list()] == sorted(names)
        assert [ref.name for ref in refs.list("a/")] == ["a/x", "a/y/z"]
        assert [ref.name for ref in refs.list("a")] == ["a", "a/x", "a/y/z", "ab"]
        assert [ref.name for ref in refs.list("%")] == ["%2F"]
        assert refs.list("人") == (made["人/b"],)
        assert refs.list("nothing") == ()

    def test_names_do_not_run_into_each_other(self, refs: RefStore) -> None:
        """Names that an encoding may confuse are different refs."""
        names = ["a/b", "a%2Fb", "a%252Fb", "a\\b", "a%5Cb", "a b", "a+b", "a.json", "a", ".a"]
        names += ["a.", "-a", "a:b", "a#b", "a?b", 'a"b', "a&b", "*", "~", ".lock", ".tmp/x", "é"]
        names += ["a" * 99]
        for name in names:
            refs.create(name, {"of": name})
        for name in names:
            found = refs.get(name)
            assert found is not None
            assert found.value == {"of": name}
        assert [ref.name for ref in refs.list()] == sorted(names)

    @pytest.mark.parametrize(
        "name",
        ["", "/", "a/", "/a", "a//b", ".", "..", "a/..", "./a", "a\n", "\0", "\ud800", "x" * 251],
    )
    def test_bad_names_are_refused(self, refs: RefStore, name: str) -> None:
        """A name that no store can keep is InvalidName, for reading and for writing."""
        with pytest.raises(InvalidName):
            refs.get(name)
        with pytest.raises(InvalidName):
            refs.create(name, {})
        assert refs.list() == ()

    @pytest.mark.parametrize(
        "value",
        [
            {"x": float("nan")},
            {"x": float("inf")},
            {"x": object()},
            {"x": (1, 2)},
            {"x": b"bytes"},
            {1: "x"},
            {"x": {1: 2}},
            {"x": "\ud800"},
            {"write_id": "mine"},
            {"earlier_writes": []},
            {"deleted": False},
            ["not", "a", "mapping"],
            {"x": "long" * 300_000},
        ],
        ids=lambda value: repr(value).partition(" at ")[0][:30],
    )
    def test_bad_values_are_refused(self, refs: RefStore, value: Mapping[str, Any]) -> None:
        """A value that would not come back as it is, or takes our keys, is refused unwritten."""
        with pytest.raises(BadInput):
            refs.create("new", value)
        ref = refs.create("main", {"x": 1})
        with pytest.raises(BadInput):
            refs.replace(ref, value)
        assert refs.list() == (ref,)

    def test_values_come_back(self, refs: RefStore) -> None:
        """Any JSON object under any good name comes back equal, also after a replacement."""
        counter = iter(range(1_000_000))

        @settings(
            max_examples=self.examples, deadline=None, suppress_health_check=list(HealthCheck)
        )
        @given(ref_names(), ref_values(), ref_values())
        def check(name: str, first: dict[str, Any], second: dict[str, Any]) -> None:
            full = f"{next(counter)}/{name}"
            ref = refs.create(full, first)
            assert ref.value == first
            assert refs.get(full) == ref
            ref = refs.replace(ref, second)
            found = refs.get(full)
            assert found == ref
            assert found is not None
            assert found.value == second
            assert refs.list(full) == (ref,)

        check()

    def test_a_write_is_known_by_its_id(self, refs: RefStore) -> None:
        """A write id that was given is the ref's; later writes remember it; others they do not."""
        first = refs.create("main", {}, write_id="made-by-me")
        assert first.write_id == "made-by-me"
        second = refs.replace(first, {}, write_id="changed-by-me")
        third = refs.replace(second, {})
        for ref in (third, refs.get("main")):
            assert ref is not None
            assert ref.follows("made-by-me")
            assert ref.follows("changed-by-me")
            assert ref.follows(third.write_id)
            assert not ref.follows("somebody-else's")
        assert not first.follows("changed-by-me")

    def test_a_ref_is_a_plain_value(self, refs: RefStore) -> None:
        """A ref can be pickled, hashed and compared, and changing its value changes nothing."""
        made = refs.create("main", {"list": [1]})
        made.value["list"].append(2)
        assert made.value == {"list": [1]}
        copy: Ref = pickle.loads(pickle.dumps(made))  # noqa: S301 - our own
        assert copy == made
        assert hash(copy) == hash(made)
        assert refs.replace(copy, {"list": []}).value == {"list": []}

    def test_of_many_who_create_one_wins(self, refs: RefStore) -> None:
        """Threads that create one name at the same time: one of them succeeds."""
        for number in range(self.rounds):
            name = f"contended/{number}"
            creations = [partial(refs.create, name, {"by": who}) for who in range(self.racers)]
            won = _winner(creations, RefExists)
            assert refs.list(name) == (won,)

    def test_of_many_who_replace_one_wins(self, refs: RefStore) -> None:
        """Threads that replace one reading at the same time: one succeeds."""
        ref = refs.create("contended", {})
        for _ in range(self.rounds):
            changes = [partial(refs.replace, ref, {"by": who}) for who in range(self.racers)]
            ref = _winner(changes, RefChanged)
            assert refs.list() == (ref,)

    def test_of_many_who_delete_one_wins(self, refs: RefStore) -> None:
        """Threads that delete one reading at the same time: one succeeds."""
        for _ in range(self.rounds):
            ref = refs.create("contended", {})
            _winner([partial(refs.delete, ref)] * self.racers, RefNotFound)
            assert refs.list() == ()

    def test_it_behaves_as_a_dictionary(self, refs: RefStore, other: RefStore) -> None:
        """Whatever is done, through two handles, the store holds what a plain dictionary would."""
        run_against_model((refs, other), examples=self.examples, values=ref_values())


def _winner(attempts: Sequence[Callable[[], _T]], loser: type[Exception]) -> _T:
    """Do all at the same time; give what the only one that succeeded returned."""
    start = threading.Barrier(len(attempts))

    def run(attempt: Callable[[], _T]) -> list[_T]:
        start.wait()
        try:
            return [attempt()]
        except loser:
            return []

    with ThreadPoolExecutor(len(attempts)) as threads:
        won = [result for results in threads.map(run, attempts) for result in results]
    assert len(won) == 1, f"{len(won)} of {len(attempts)} were told that they won"
    return won[0]
