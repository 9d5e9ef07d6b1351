"""Power cuts played back: careful programs lose nothing, careless ones are caught."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign.power_cuts import EXT4_LIKE_DISK, STRICT_DISK, DiskModel, PowerCut, Trace
from campaign.traced_crash import TracedCrash
from omnigraph_testing import InvalidOption, mark

MODELS = pytest.mark.parametrize("model", [STRICT_DISK, EXT4_LIKE_DISK], ids=lambda m: m.name)
CONTENT = b"".join(b"%7d\n" % number for number in range(1500))


def sync(path: Path) -> None:
    """Fsync a file or a directory."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def save(place: Path, *, file_too: bool = True, directory_too: bool = True) -> None:
    """Save two versions of a document, leaving out a sync if asked to."""
    for version in (1, 2):
        aside = place / "aside"
        with aside.open("wb") as file:
            file.write(b"version %d\n" % version)
            file.write(CONTENT)
        if file_too:
            sync(aside)
        aside.rename(place / "document")
        if directory_too:
            sync(place)
        mark(str(version))


def save_deep(place: Path, *, parent_too: bool = True) -> None:
    """Save into a directory that is new itself."""
    (place / "new").mkdir()
    if parent_too:
        sync(place)
    save(place / "new")


def move(place: Path) -> None:
    """Move a file to another directory, and sync only where it went."""
    (place / "from" / "document").rename(place / "to" / "document")
    sync(place / "to")
    mark("moved")


def overwrite(place: Path) -> None:
    """Change a file in place, which no sync makes atomic."""
    with (place / "document").open("r+b") as file:
        file.write(CONTENT.upper()[::-1])
        file.flush()
        os.fsync(file.fileno())
    mark("changed")


def lost_documents(trace: Trace, model: DiskModel, where: str = "document") -> Iterator[PowerCut]:
    """Find the states in which a version that was acknowledged is not whole."""
    for state in trace.power_cuts(model=model, limit=400):
        newest = int(state.acknowledged[-1]) if state.acknowledged else 0
        allowed = [b"version %d\n" % version + CONTENT for version in (newest, newest + 1)]
        found = state.image.nodes.get(where)
        if found not in allowed and not (newest == 0 and found is None):
            yield state


@MODELS
def test_a_careful_program_loses_nothing(
    traced_crash: TracedCrash, tmp_path: Path, model: DiskModel
) -> None:
    """Write, fsync, rename, fsync of the directory: every acknowledged version is whole."""
    trace = traced_crash.record(save, tmp_path, root=tmp_path)
    assert trace.marks == ("1", "2")
    assert len(trace.power_cuts(model=model, limit=400)) > 10
    assert list(map(str, lost_documents(trace, model))) == []


@MODELS
@pytest.mark.parametrize("left_out", ["file_too", "directory_too"])
def test_one_missing_sync_is_caught(
    traced_crash: TracedCrash, tmp_path: Path, model: DiskModel, left_out: str
) -> None:
    """The same program without one of its syncs loses a version in some state."""
    trace = traced_crash.record(save, tmp_path, root=tmp_path, **{left_out: False})
    assert any(lost_documents(trace, model))


def test_the_parent_of_a_new_directory_must_be_synced(
    traced_crash: TracedCrash, tmp_path: Path
) -> None:
    """A new directory is lost with all that is in it, unless its own parent was synced."""
    careful, careless = tmp_path / "careful", tmp_path / "careless"
    careful.mkdir()
    careless.mkdir()
    trace = traced_crash.record(save_deep, careful, root=careful)
    assert list(map(str, lost_documents(trace, STRICT_DISK, "new/document"))) == []
    trace = traced_crash.record(save_deep, careless, root=careless, parent_too=False)
    assert any(lost_documents(trace, STRICT_DISK, "new/document"))
    assert not any(lost_documents(trace, EXT4_LIKE_DISK, "new/document")), "any sync keeps names"


@MODELS
def test_a_moved_file_is_never_nowhere(
    traced_crash: TracedCrash, tmp_path: Path, model: DiskModel
) -> None:
    """Between two directories a file may be found twice, but never not at all."""
    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()
    (tmp_path / "from" / "document").write_bytes(CONTENT)
    cuts = traced_crash.record(move, tmp_path, root=tmp_path).power_cuts(model=model)
    assert cuts.exhaustive
    places = [
        (
            "from/document" in state.image.nodes,
            "to/document" in state.image.nodes,
            bool(state.acknowledged),
        )
        for state in cuts
    ]
    assert (False, False, False) not in places
    assert all(there for _, there, acknowledged in places if acknowledged)
    assert ((True, True, True) in places) is (model is STRICT_DISK)


@MODELS
def test_changing_in_place_can_tear(
    traced_crash: TracedCrash, tmp_path: Path, model: DiskModel
) -> None:
    """Before the sync, a file that is changed in place may be a mixture; after it, never."""
    (tmp_path / "document").write_bytes(CONTENT)
    found = [
        (state.image.nodes["document"], bool(state.acknowledged))
        for state in traced_crash.record(overwrite, tmp_path, root=tmp_path).power_cuts(model=model)
    ]
    contents = {
        node.read_bytes() if isinstance(node, Path) else node
        for node, acknowledged in found
        if not acknowledged
    }
    changed = CONTENT.upper()[::-1]
    assert {CONTENT, changed} < contents
    assert {len(content) for content in contents} == {len(CONTENT)}
    assert [node for node, acknowledged in found if acknowledged] == [changed]


def test_the_same_seed_gives_the_same_states(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """A sample is repeatable, bounded, without repetition, and another with another seed."""
    trace = traced_crash.record(save, tmp_path, root=tmp_path, file_too=False, directory_too=False)

    def sample(seed: int) -> list[object]:
        cuts = trace.power_cuts(seed=seed, limit=40)
        assert not cuts.exhaustive
        return [(state.image.key(), state.acknowledged) for state in cuts]

    assert len(set(sample(1))) == 40
    assert sample(1) == sample(1)
    assert set(sample(1)) != set(sample(2))


def test_a_state_says_what_it_is(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """A failing assertion can name the cut, what was acknowledged, and what was lost."""
    trace = traced_crash.record(save, tmp_path, root=tmp_path, file_too=False)
    texts = [str(state) for state in lost_documents(trace, STRICT_DISK)]
    assert any("acknowledged: 1; lost: " in text for text in texts)
    assert any("zeros for its data" in text for text in texts)


def test_a_state_is_not_written_over_something(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """A state is materialised into an empty place only."""
    trace = traced_crash.record(save, tmp_path, root=tmp_path)
    with pytest.raises(InvalidOption, match="an empty directory"):
        trace.after_all().materialise(tmp_path)
