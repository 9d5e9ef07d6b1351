"""Processes that are killed in the middle of a change leave nothing that blocks, and nothing torn.

The locations are named, so each is hit for certain; random moments come on top.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from sizes import FULL_SIZE, commit_seed, sized

from campaign.power_cuts import EXT4_LIKE_DISK, STRICT_DISK, DiskModel
from campaign.traced_crash import TracedCrash
from campaign.tracing.file_operation_kill import AtFileOperation
from omnigraph_l1 import JsonRefs, Ref, Storage
from omnigraph_testing import AtMoment, AtPoint, Crash, S3Store, mark

NAME = "a/b"
LONG = "x" * 20_000
SECONDS = 5.0
"""More than anything of a dead process may cost a living one."""


def create(location: Path) -> None:
    """Create the ref."""
    JsonRefs.open(location, "_refs").create(NAME, {"by": "the dead", "long": LONG})


def replace(location: Path) -> None:
    """Replace the ref."""
    refs = JsonRefs.open(location, "_refs")
    refs.replace(_there(refs), {"by": "the dead", "long": LONG})


def delete(location: Path) -> None:
    """Delete the ref."""
    refs = JsonRefs.open(location, "_refs")
    refs.delete(_there(refs))


def change_for_ever(location: Path) -> None:
    """Create, replace and delete until killed."""
    refs = JsonRefs.open(location, "_refs", durability="none")
    number = 0
    while True:
        number += 1
        ref = refs.get(NAME) or refs.create(NAME, {"number": number, "long": LONG})
        ref = refs.replace(ref, {"number": number, "long": LONG})
        if number % 3 == 0:
            refs.delete(ref)


def _there(refs: JsonRefs) -> Ref:
    ref = refs.get(NAME)
    assert ref is not None
    return ref


def _with_a_ref(location: Path) -> Sequence[Path]:
    JsonRefs.open(location, "_refs").create(NAME, {"by": "the living"})
    return [location]


def _check_what_is_left(location: Path) -> Ref | None:
    """Readers see a whole document or none; a writer is not kept waiting; no litter is left."""
    refs = JsonRefs.open(location, "_refs")
    found = refs.get(NAME)
    listed = refs.list()
    assert listed == (() if found is None else (found,))
    if found is not None and "long" in found.value:
        assert found.value["long"] == LONG
    started = time.monotonic()
    living = (
        refs.create(NAME, {"by": "next"}) if found is None else refs.replace(found, {"by": "next"})
    )
    assert time.monotonic() - started < SECONDS
    assert refs.get(NAME) == living
    assert list((location / "_refs" / ".side").iterdir()) == []
    return found


CHANGES = pytest.mark.parametrize(
    ("change", "prepare", "before", "after"),
    [
        (create, None, None, "the dead"),
        (replace, _with_a_ref, "the living", "the dead"),
        (delete, _with_a_ref, "the living", None),
    ],
    ids=["create", "replace", "delete"],
)


@CHANGES
def test_killed_at_every_named_step(
    omnigraph_crash: Crash,
    change: Callable[[Path], None],
    prepare: Callable[[Path], Sequence[Path]] | None,
    before: str | None,
    after: str | None,
) -> None:
    """Killed at each step, with the lock held and without: the change happened or did not, and the
    next writer goes on at once. It has happened once the document has its name.
    """
    killed_at: dict[str, str | None] = {}
    for crashed in omnigraph_crash.everywhere(change, prepare=prepare):
        found = _check_what_is_left(crashed.directory)
        assert isinstance(crashed.kill, AtPoint)
        killed_at[crashed.kill.point] = None if found is None else found.value["by"]
    last = {"refs.local.named", "refs.local.removed", "refs.local.settled"} & set(killed_at)
    early = set(killed_at) - last
    assert {"refs.local.locked"} <= early
    assert len(last) == 2
    assert {killed_at[point] for point in early} == {before}
    assert {killed_at[point] for point in last} == {after}


@CHANGES
def test_killed_at_file_operations(
    traced_crash: TracedCrash,
    change: Callable[[Path], None],
    prepare: Callable[[Path], Sequence[Path]] | None,
    before: str | None,
    after: str | None,
) -> None:
    """Killed at each operation on files in turn: before or after, never in between."""
    seen = set()
    for crashed in traced_crash.everywhere(
        change, prepare=prepare, by="file operations", limit=sized(3, 10), seed=commit_seed()
    ):
        found = _check_what_is_left(crashed.directory)
        seen.add(None if found is None else found.value["by"])
        assert isinstance(crashed.kill, AtFileOperation)
    assert seen <= {before, after}
    assert seen == {before, after} or not FULL_SIZE


@pytest.mark.parametrize("seed", sized([commit_seed()], [*range(5), commit_seed()]))
def test_killed_at_some_moment(omnigraph_crash: Crash, tmp_path: Path, seed: int) -> None:
    """A process that changes a ref all the time is killed at some moment."""
    outcome = omnigraph_crash.run(change_for_ever, tmp_path, kill=AtMoment(seed, within=0.3))
    assert outcome.killed_at is not None
    _check_what_is_left(tmp_path)


def hold_the_lock(location: Path) -> None:
    """Replace the ref; the test kills it while it has the lock."""
    replace(location)


def test_a_holder_that_is_killed_lets_a_waiter_in(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """The lock of a process that was killed while it held it is free at once."""
    _with_a_ref(tmp_path)
    outcome = omnigraph_crash.run(hold_the_lock, tmp_path, kill=AtPoint("refs.local.staged"))
    assert outcome.killed_at is not None
    assert list((tmp_path / "_refs" / ".side").iterdir()) != []
    _check_what_is_left(tmp_path)


def change_and_say_so(location: Path) -> None:
    """Create, replace, delete and create again, and say when each was acknowledged."""
    refs = JsonRefs.open(location / "new" / "repo", "_refs")
    ref = refs.create(NAME, {"n": 1})
    mark("1")
    ref = refs.replace(ref, {"n": 2})
    mark("2")
    refs.delete(ref)
    mark("3")
    refs.create(NAME, {"n": 4})
    mark("4")


@pytest.mark.parametrize("model", [STRICT_DISK, EXT4_LIKE_DISK], ids=lambda model: model.name)
def test_a_power_cut_loses_nothing_that_was_acknowledged(
    traced_crash: TracedCrash, tmp_path: Path, model: DiskModel
) -> None:
    """Whatever a power cut leaves, it is the last change that was acknowledged, or the one that was
    under way, whole.
    """
    trace = traced_crash.record(change_and_say_so, tmp_path, root=tmp_path)
    assert trace.marks == ("1", "2", "3", "4")
    cuts = trace.power_cuts(model=model, limit=400)
    assert len(cuts) > 10
    for cut in cuts:
        acknowledged = int(cut.acknowledged[-1]) if cut.acknowledged else 0
        found = cut.image.nodes.get("new/repo/_refs/a%2Fb.json")
        version = 0 if found is None else json.loads(found)["n"]
        gone = {0, 3}
        allowed = {acknowledged, acknowledged + 1}
        assert version in allowed or (version == 0 and gone & allowed), str(cut)


def change_in_s3(uri: str, options: dict[str, str]) -> None:
    """Create, replace and delete a ref in a store."""
    refs = JsonRefs.open(Storage.resolve(uri, options), "_refs")
    ref = refs.create(NAME, {"n": 1})
    ref = refs.replace(ref, {"n": 2})
    refs.delete(ref)


def test_killed_around_requests(omnigraph_crash: Crash, s3_store: S3Store) -> None:
    """Killed before and after each PUT: what is in the store is whole, and can be gone on from."""
    for step, point in enumerate(["refs.store.sending", "refs.store.sent"] * 3):
        store = s3_store.below(str(step))
        kill = AtPoint(point, hit=1 + step // 2)
        omnigraph_crash.run(change_in_s3, store.uri(), store.storage_options, kill=kill)
        refs = JsonRefs.open(Storage.resolve(store.uri(), store.storage_options), "_refs")
        found = refs.get(NAME)
        expected = [None, 1, 1, 2, 2, None][step]
        assert (None if found is None else found.value["n"]) == expected
        made = refs.create(NAME, {}) if found is None else refs.replace(found, {})
        assert refs.list() == (made,)
