"""Refs on local disk: what is in the directory, what is flushed, and what a reader sees."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from omnigraph_l1 import JsonRefs
from omnigraph_l1.errors import CorruptRef, InvalidRequest, L1Error, OutcomeUnknown, UsedAfterFork
from omnigraph_l1.failpoints import handling


def test_what_is_in_the_directory(tmp_path: Path) -> None:
    """One JSON file for each ref, under its encoded name; reading makes nothing."""
    refs = JsonRefs.open(tmp_path / "repo", "_refs/branches")
    assert refs.get("main") is None
    assert refs.list() == ()
    refs.tidy()
    assert list(tmp_path.iterdir()) == []
    refs.probe()
    ref = refs.create("a/b", {"x": "人"})
    refs.replace(ref, {"x": 2})
    directory = tmp_path / "repo" / "_refs" / "branches"
    assert sorted(entry.name for entry in directory.iterdir()) == [".lock", ".side", "a%2Fb.json"]
    assert list((directory / ".side").iterdir()) == []


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    """Files that are no refs are neither listed nor touched; a damaged ref is named."""
    refs = JsonRefs.open(tmp_path)
    ref = refs.create("main", {})
    (tmp_path / "README.txt").write_text("x")
    (tmp_path / "%41.json").write_text("x")
    (tmp_path / "directory").mkdir()
    assert refs.list() == (ref,)
    (tmp_path / "torn.json").write_text("")
    attempts: list[Callable[[], object]] = [partial(refs.get, "torn"), refs.list]
    for attempt in attempts:
        with pytest.raises(CorruptRef, match="torn"):
            attempt()
    assert (tmp_path / "torn.json").read_text() == ""


def test_a_document_of_another_program(tmp_path: Path) -> None:
    """A pointer without a write id is read, and replaced only where it is as it was read."""
    (tmp_path / "main.json").write_text('{"format": 1}')
    refs = JsonRefs.open(tmp_path)
    ref = refs.get("main")
    assert ref is not None
    assert ref.value == {"format": 1}
    new = refs.replace(ref, {"format": 2})
    assert new.follows(ref.write_id)
    (tmp_path / "main.json").write_text('{"format": 3}')
    with pytest.raises(L1Error):
        refs.replace(new, {})


def test_a_copied_tombstone_is_not_there(tmp_path: Path) -> None:
    """A tombstone that came with a copy of a repository from a store counts as nothing."""
    (tmp_path / "main.json").write_text('{"deleted": true, "write_id": "x", "earlier_writes": []}')
    refs = JsonRefs.open(tmp_path)
    assert refs.get("main") is None
    assert refs.list() == ()
    made = refs.create("main", {"x": 1})
    assert refs.list() == (made,)


def test_no_reader_ever_sees_a_torn_document(tmp_path: Path) -> None:
    """While writers replace large documents, readers, who take no lock, see whole ones.

    The writer goes on until they have seen some.
    """
    refs = JsonRefs.open(tmp_path, durability="none")
    ref = refs.create("main", {"n": 0, "text": "0" * 50_000})
    stop = threading.Event()
    seen: set[int] = set()
    problems: list[BaseException] = []

    def read() -> None:
        try:
            while not stop.is_set():
                (found,) = refs.list()
                assert set(found.value["text"]) == {str(found.value["n"] % 10)}
                seen.add(found.value["n"])
        except BaseException as problem:  # noqa: BLE001 - handed to the test
            problems.append(problem)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    deadline = time.monotonic() + 60
    for number in count(1):
        ref = refs.replace(ref, {"n": number, "text": str(number % 10) * 50_000})
        if number >= 300 and (len(seen) > 3 or problems or time.monotonic() > deadline):
            break
    stop.set()
    for reader in readers:
        reader.join()
    assert problems == []
    assert len(seen) > 3


def _use(refs: JsonRefs, told: multiprocessing.SimpleQueue[str]) -> None:
    try:
        refs.get("main")
    except UsedAfterFork:
        told.put("UsedAfterFork")
    else:
        told.put("no error")


@pytest.mark.filterwarnings("ignore:.*fork.*")
@pytest.mark.parametrize("where", ["memory", "local"])
def test_use_after_fork(tmp_path: Path, where: str) -> None:
    """A handle that was made before a fork says so at once in the child, whatever it stands on."""
    refs = JsonRefs.in_memory() if where == "memory" else JsonRefs.open(tmp_path)
    context = multiprocessing.get_context("fork")
    told: multiprocessing.SimpleQueue[str] = context.SimpleQueue()
    child = context.Process(target=_use, args=(refs, told))
    child.start()
    child.join(30)
    assert told.get() == "UsedAfterFork"


def test_durability_is_full_or_none(tmp_path: Path) -> None:
    """Any other durability is refused."""
    with pytest.raises(InvalidRequest, match="durability"):
        JsonRefs.open(tmp_path, durability="some")


def test_what_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With full durability the file is flushed before it has its name, and the directory before
    the call returns; with none, nothing is.
    """
    events: list[str] = []
    flush = os.fsync

    def noted(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        events.append("directory" if path.is_dir() else "document")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    with handling(lambda point: events.append(point.rpartition(".")[2])):
        refs = JsonRefs.open(tmp_path)
        ref = refs.create("main", {})
        events.clear()
        ref = refs.replace(ref, {})
        assert events == [
            *("locked", "half_written", "document", "staged", "named", "directory", "settled")
        ]
        events.clear()
        refs.delete(ref)
        assert events == ["locked", "removed", "directory", "settled"]
        events.clear()
        JsonRefs.open(tmp_path, durability="none").create("main", {})
        assert not {"document", "directory"} & set(events)


def test_a_flush_that_fails_is_an_unknown_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that is visible, but could not be flushed, is neither done nor undone."""
    refs = JsonRefs.open(tmp_path)
    ref = refs.create("main", {})
    flush = os.fsync

    def failing(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().is_dir():
            raise OSError(5, "Input/output error")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OutcomeUnknown) as caught:
        refs.replace(ref, {"n": 1})
    assert refs.wrote("main", caught.value.write_id)
    found = refs.get("main")
    assert found is not None
    with pytest.raises(OutcomeUnknown):
        refs.delete(found)


def test_what_is_known_of_an_old_file_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is opened again only where it was replaced. A file of just now is always opened: a later
    one could look the same.
    """
    lister, writer = (JsonRefs.open(tmp_path, "refs") for _ in range(2))
    refs = [writer.create(f"ref-{number}", {"n": number}) for number in range(3)]
    opened: list[str] = []
    open_file = os.open

    def noted(path: Path, *given: int) -> int:
        opened.append(Path(path).stem)
        return open_file(path, *given)

    monkeypatch.setattr(os, "open", noted)
    for _ in range(2):
        assert lister.list() == tuple(refs)
    assert len(opened) == 6
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 10)
    for expected in (3, 0):
        opened.clear()
        assert lister.list() == tuple(refs)
        assert len(opened) == expected
    refs[1] = writer.replace(refs[1], {"n": 7})
    (tmp_path / "refs/ref-2.json").chmod(0o600)  # other times, too
    opened.clear()
    assert lister.list() == tuple(refs)
    assert opened == ["ref-1", "ref-2"]
