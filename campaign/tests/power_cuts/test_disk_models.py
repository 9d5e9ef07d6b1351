"""The pure part of power cuts: which names and bytes may be there, checked on small traces."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.power_cuts import EXT4_LIKE_DISK, STRICT_DISK, DiskModel, PowerCuts, Trace
from campaign.power_cuts.data_variants import WHOLE, apply_data, variants
from campaign.tracing.file_operations import (
    Create,
    Exchange,
    Link,
    Mark,
    Mkdir,
    Operation,
    Rename,
    Symlink,
    Sync,
    SyncAll,
    Truncate,
    Unlink,
    Write,
)
from campaign.tracing.tree_snapshot import Snapshot

ROOT = 1
MODELS = [STRICT_DISK, EXT4_LIKE_DISK]


def trace(*operations: Operation) -> Trace:
    """Make a trace that begins with an empty directory."""
    empty = Snapshot(root=ROOT, directories={ROOT: {}}, files={}, links={})
    return Trace(root="/r", operations=operations, snapshot=empty)


def create(file: int, name: str, directory: int = ROOT) -> Create:
    """Make an operation that creates a file."""
    return Create(file=file, directory=directory, name=name, path=f"/r/{name}")


def write(file: int, data: bytes, offset: int = 0) -> Write:
    """Make an operation that writes."""
    return Write(file=file, offset=offset, data=data, path=f"/r/{file}")


def sync(file: int) -> Sync:
    """Make an operation that syncs."""
    return Sync(file=file, path=f"/r/{file}")


def trees(cuts: PowerCuts, cut: int) -> list[dict[str, object]]:
    """Give the trees that are possible at one cut."""
    return [dict(state.image.nodes) for state in cuts if state.cut == cut]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_what_was_synced_is_there(model: DiskModel) -> None:
    """File and directory synced: one state is left, and it is the whole one."""
    cuts = trace(create(2, "f"), write(2, b"abc"), sync(2), sync(ROOT), Mark(text="ok"))
    last = [state for state in cuts.power_cuts(model=model) if state.acknowledged]
    assert [dict(state.image.nodes) for state in last] == [{"f": b"abc"}]


def test_every_state_of_a_small_trace() -> None:
    """Without any sync: no file, an empty one, zeros, or the whole."""
    cuts = trace(create(2, "f"), write(2, b"abc"), Mark(text="ok")).power_cuts(model=STRICT_DISK)
    assert cuts.exhaustive
    found = trees(cuts, 3)
    assert len(found) == 4
    assert all(tree in found for tree in ({}, {"f": b""}, {"f": bytes(3)}, {"f": b"abc"}))


def test_names_in_order_or_not() -> None:
    """A journal loses a tail of names; the strict model any of them."""
    two = trace(create(2, "a"), create(3, "b"), Mark(text="ok"))
    strict = [sorted(tree) for tree in trees(two.power_cuts(model=STRICT_DISK), 3)]
    journal = [sorted(tree) for tree in trees(two.power_cuts(model=EXT4_LIKE_DISK), 3)]
    assert sorted(strict) == [[], ["a"], ["a", "b"], ["b"]]
    assert sorted(journal) == [[], ["a"], ["a", "b"]]


def test_a_sync_of_a_file_keeps_its_bytes_but_not_its_name() -> None:
    """In the strict model a file that was synced can still be without its name."""
    cuts = trace(create(2, "f"), write(2, b"abc"), sync(2), Mark(text="ok"))
    assert trees(cuts.power_cuts(model=STRICT_DISK), 4) == [{}, {"f": b"abc"}]
    assert trees(cuts.power_cuts(model=EXT4_LIKE_DISK), 4) == [{"f": b"abc"}]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_sync_of_one_file_does_not_keep_the_bytes_of_another(model: DiskModel) -> None:
    """Each file's bytes are synced by themselves, in both models."""
    made = (create(2, "f"), write(2, b"abc"), create(3, "g"), write(3, b"def"))
    cuts = trace(*made, sync(3), sync(ROOT), Mark(text="ok")).power_cuts(model=model)
    found = trees(cuts, 7)
    assert {tree["f"] for tree in found} >= {b"", b"abc"}
    assert {tree["g"] for tree in found} == {b"def"}


def test_an_old_name_that_is_safely_gone_means_a_new_one_that_is_there() -> None:
    """A move whose old directory alone was synced is on disk as a whole."""
    made = [Mkdir(file=number, directory=ROOT, name=f"d{number}", path="") for number in (2, 3)]
    move = Rename(
        file=4, directory=2, name="f", new_directory=3, new_name="f", path="", new_path=""
    )
    operations = (*made, create(4, "f", 2), SyncAll(path=""), move, sync(2), Mark(text="ok"))
    cuts = trace(*operations).power_cuts(model=STRICT_DISK)
    assert [sorted(tree) for tree in trees(cuts, 7)] == [["d2", "d3", "d3/f"]]


def test_a_sync_of_another_directory_does_not_help() -> None:
    """Each directory is synced by itself, in the strict model."""
    made = Mkdir(file=2, directory=ROOT, name="d", path="/r/d")
    cuts = trace(made, create(3, "f", 2), sync(2), Mark(text="ok")).power_cuts(model=STRICT_DISK)
    assert [sorted(tree) for tree in trees(cuts, 4)] == [[], ["d", "d/f"]]


def test_a_rename_is_whole_or_not_at_all() -> None:
    """Within a directory the old name goes exactly when the new one comes."""
    move = Rename(
        file=2, directory=ROOT, name="a", new_directory=ROOT, new_name="b", path="", new_path=""
    )
    cuts = trace(create(2, "a"), sync(ROOT), move, Mark(text="ok")).power_cuts(model=STRICT_DISK)
    assert [sorted(tree) for tree in trees(cuts, 4)] == [["a"], ["b"]]


def test_a_replaced_file_comes_back_if_the_rename_is_lost() -> None:
    """Undoing a rename over a file gives that file back, with its bytes."""
    move = Rename(
        file=3, directory=ROOT, name="n", new_directory=ROOT, new_name="f", path="", new_path=""
    )
    old = (create(2, "f"), write(2, b"old"))
    new = (create(3, "n"), write(3, b"new"), sync(3))
    cuts = trace(*old, SyncAll(path="/r"), *new, move, Mark(text="ok")).power_cuts()
    assert {tree["f"] for tree in trees(cuts, 8)} == {b"old", b"new"}


def test_exchange_link_symlink_unlink() -> None:
    """The other operations on names lead where they should when nothing is lost."""
    swap = Exchange(
        file=2,
        directory=ROOT,
        name="a",
        new_file=3,
        new_directory=ROOT,
        new_name="b",
        path="",
        new_path="",
    )
    done = trace(
        create(2, "a"),
        write(2, b"2"),
        create(3, "b"),
        swap,
        Link(file=2, directory=ROOT, name="c", path=""),
        Symlink(file=4, directory=ROOT, name="s", target="b", path=""),
        Unlink(directory=ROOT, name="a", path=""),
    )
    nodes = done.after_all().image.nodes
    assert list(nodes) == ["b", "c", "s"]
    assert nodes["b"] == nodes["c"] == b"2"


def test_marks_say_what_was_acknowledged_by_then() -> None:
    """A mark counts for the cuts after it, and for no earlier one."""
    cuts = trace(Mark(text="1"), create(2, "f"), Mark(text="2")).power_cuts()
    assert {(state.cut, state.acknowledged) for state in cuts} >= {(0, ()), (1, ("1",))}
    assert all(state.acknowledged == ("1", "2") for state in cuts if state.cut == 3)


def test_a_large_trace_is_sampled_within_its_limit(tmp_path: Path) -> None:
    """Hundreds of pending names do not explode: exactly ``limit`` states come, soon."""
    many = [create(number, f"f{number}") for number in range(2, 200)]
    cuts = trace(*many).power_cuts(limit=150)
    assert len(cuts) == 150
    assert not cuts.exhaustive


writes = st.builds(
    lambda offset, data: Write(file=2, offset=offset, data=data, path=""),
    st.integers(0, 2000),
    st.binary(max_size=3000),
)
truncates = st.builds(lambda size: Truncate(file=2, size=size, path=""), st.integers(0, 3000))


@given(
    safe=st.binary(max_size=3000),
    pending=st.lists(writes | truncates, max_size=6),
    model=st.sampled_from(MODELS),
    seed=st.integers(0, 5),
)
def test_bytes_come_from_somewhere(
    safe: bytes, pending: list[Write | Truncate], model: DiskModel, seed: int
) -> None:
    """Whatever is found at a place was there, was written there, or is zero; the first is whole."""
    found = variants(safe, pending, model=model, rng=random.Random(seed))
    assert found[0].label == WHOLE
    assert found[0].content == apply_data(safe, pending)
    assert len({variant.content for variant in found}) == len(found)
    history = [apply_data(safe, pending[:count]) for count in range(len(pending) + 1)]
    longest = max(map(len, history))
    for variant in found:
        assert len(variant.content) <= longest
        for place, byte in enumerate(variant.content):
            assert byte == 0 or byte in {each[place] for each in history if place < len(each)}
