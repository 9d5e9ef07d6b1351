"""Refs on local disk: what is in the directory, who may do what, and what goes wrong."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from omnigraph_l1 import JsonRefs
from omnigraph_l1._process import ProcessGuard
from omnigraph_l1._refs.local import LocalBackend
from omnigraph_l1._refs.lock import directory_lock
from omnigraph_l1.errors import (
    AccessDenied,
    CorruptRef,
    InvalidRequest,
    L1Error,
    OutcomeUnknown,
    StorageError,
    StorageFull,
    StoreUnavailable,
    UnsafeStore,
    UsedAfterFork,
)
from omnigraph_l1.failpoints import handling

NOBODY = 65534


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
    """While writers replace large documents, readers, who take no lock, see whole ones."""
    refs = JsonRefs.open(tmp_path, durability="none")
    ref = refs.create("main", {"n": 0, "text": "0" * 50_000})
    stop = threading.Event()
    seen: list[int] = []
    problems: list[BaseException] = []

    def read() -> None:
        try:
            while not stop.is_set():
                (found,) = refs.list()
                assert set(found.value["text"]) == {str(found.value["n"] % 10)}
                seen.append(found.value["n"])
        except BaseException as problem:  # noqa: BLE001 - handed to the test
            problems.append(problem)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(1, 300):
        ref = refs.replace(ref, {"n": number, "text": str(number % 10) * 50_000})
    stop.set()
    for reader in readers:
        reader.join()
    assert problems == []
    assert len(set(seen)) > 3


def _times_open(path: Path) -> int:
    links = [os.fspath(entry) for entry in Path("/proc/self/fd").iterdir()]
    return sum(os.path.realpath(link) == os.path.realpath(path) for link in links)


def test_a_lock_file_that_was_removed_is_noticed(tmp_path: Path) -> None:
    """A waiter whose lock file was removed meanwhile locks the new one, with everybody else."""
    path = tmp_path / ".lock"
    held = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    entered = threading.Event()
    leave = threading.Event()

    def wait_for_it() -> None:
        with directory_lock(path, patience=30):
            entered.set()
            leave.wait(30)

    waiter = threading.Thread(target=wait_for_it)
    waiter.start()
    deadline = time.monotonic() + 30
    while _times_open(path) < 2:
        assert time.monotonic() < deadline, "the waiter never opened the lock file"
    path.unlink()
    os.close(held)
    assert entered.wait(30)
    with pytest.raises(StoreUnavailable), directory_lock(path, patience=0.05):
        pass
    leave.set()
    waiter.join()


def test_a_holder_that_hangs_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    """Where the lock stays held, a writer says so after its patience, and readers do not care."""
    backend = LocalBackend(tmp_path, "", flush=True, patience=0.2)
    refs = JsonRefs("x", backend=backend, recipe=None, guard=ProcessGuard("x"))
    ref = refs.create("main", {})
    with directory_lock(tmp_path / ".lock", patience=1):
        with pytest.raises(StoreUnavailable, match="held by another process"):
            refs.replace(ref, {})
        assert refs.list() == (ref,)
    refs.replace(ref, {})


FORKS_AND_DIES = """
import os, signal, sys
from pathlib import Path
from omnigraph_l1._refs.lock import directory_lock
with directory_lock(Path(sys.argv[1]), patience=1):
    if os.fork() == 0:
        os.write(1, b"%d" % os.getpid())
        signal.pause()
    sys.stdin.read(1)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    """A process that was forked while its parent held the lock does not hold it on when the parent
    is killed.
    """
    command = [sys.executable, "-c", FORKS_AND_DIES, str(tmp_path / ".lock")]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.read1(20))
    try:
        with pytest.raises(StoreUnavailable), directory_lock(tmp_path / ".lock", patience=0.05):
            pass
        assert parent.stdin is not None
        parent.stdin.write(b"x")
        parent.stdin.close()
        parent.wait(30)
        with directory_lock(tmp_path / ".lock", patience=1):
            os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        parent.stdout.close()


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


# What an unprivileged process may do. Its code runs in an interpreter of its own.

UNPRIVILEGED = """
import os, sys
import omnigraph_l1
from omnigraph_l1 import JsonRefs, Storage
from omnigraph_l1.errors import L1Error
os.setgroups([]); os.setgid({uid}); os.setuid({uid})
refs = JsonRefs.open(sys.argv[1], "_refs")
def tell(name, attempt):
    try:
        print(name, type(attempt()).__name__)
    except L1Error as error:
        print(name, error.kind)
tell("get", lambda: refs.get("main"))
tell("list", lambda: refs.list())
tell("create", lambda: refs.create("new", {{}}))
tell("probe", lambda: refs.probe())
"""


def _as_nobody(place: Path) -> dict[str, str]:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    code = UNPRIVILEGED.format(uid=NOBODY)
    command = [sys.executable, "-c", code, str(place)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """Give a directory that other users can reach: those of pytest are for one user alone."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


def test_a_directory_that_can_only_be_read(open_directory: Path) -> None:
    """Who may read and not write reads all, and gets AccessDenied for the rest."""
    JsonRefs.open(open_directory, "_refs").create("main", {})
    told = _as_nobody(open_directory)
    denied = AccessDenied.kind
    assert told == {"get": "Ref", "list": "tuple", "create": denied, "probe": denied}


def test_a_directory_that_cannot_be_read(open_directory: Path) -> None:
    """Who may not even read gets AccessDenied for everything: refs that cannot be seen are not
    "not there".
    """
    JsonRefs.open(open_directory, "_refs").create("main", {})
    (open_directory / "_refs").chmod(0o700)
    assert set(_as_nobody(open_directory).values()) == {AccessDenied.kind}


def test_a_place_where_nothing_may_be_made(open_directory: Path) -> None:
    """Who may not make the directory finds nothing, and gets AccessDenied for writing."""
    told = _as_nobody(open_directory)
    denied = AccessDenied.kind
    assert told == {"get": "NoneType", "list": "tuple", "create": denied, "probe": denied}


def test_a_place_below_a_file(tmp_path: Path) -> None:
    """A place that is below a file is a StorageError for writing."""
    (tmp_path / "file").write_text("x")
    refs = JsonRefs.open(tmp_path / "file", "_refs")
    assert refs.get("main") is None
    with pytest.raises(StorageError):
        refs.create("main", {})


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of 128 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k,mode=777", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True, timeout=30)


def test_a_full_disk(small_disk: Path) -> None:
    """On a full disk a change is StorageFull; nothing changed, nothing is left, reading and
    deleting work, and with room all goes on.
    """
    refs = JsonRefs.open(small_disk, "_refs")
    ref = refs.create("main", {"n": 1})
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        filler.write_bytes(b"x" * (1 << 20))
    for attempt in (partial(refs.replace, ref, {"n": "x" * 9000}), partial(refs.create, "x", {})):
        with pytest.raises(StorageFull):
            attempt()
    assert refs.list() == (ref,)
    assert list((small_disk / "_refs" / ".side").iterdir()) == []
    filler.unlink()
    ref = refs.replace(ref, {"n": 2})
    assert refs.list() == (ref,)


def test_locks_that_do_not_exclude_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system whose locks exclude nobody, or that has none, is refused by the probe."""
    refs = JsonRefs.open(tmp_path)
    refs.probe()
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(UnsafeStore, match="two holders"):
        refs.probe()

    def unsupported(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.raises(UnsafeStore, match="no locks"):
        refs.probe()


def _all_wait(path: Path, count: int) -> bool:
    return _waiting_for(path) == count


def _eventually(condition: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.001)


def _waiting_for(path: Path) -> int:
    inode = f":{path.stat().st_ino} "
    locks = Path("/proc/locks").read_text()
    return sum("-> FLOCK" in line and inode in line for line in locks.splitlines())


def test_waiters_get_the_lock_in_their_order(tmp_path: Path) -> None:
    """Nobody is overtaken, so that the wait is bounded by those who came first."""
    path = tmp_path / ".lock"
    order: list[int] = []

    def wait_for_it(number: int) -> None:
        with directory_lock(path, patience=30):
            order.append(number)

    with directory_lock(path, patience=1):
        waiters = [threading.Thread(target=wait_for_it, args=(n,)) for n in range(6)]
        for queued, waiter in enumerate(waiters, 1):
            waiter.start()
            _eventually(partial(_all_wait, path, queued), "the waiter never queued up")
    for waiter in waiters:
        waiter.join()
    assert order == list(range(6))


def test_a_waiter_that_gave_up_does_not_keep_the_lock(tmp_path: Path) -> None:
    """What it gets too late it lets go of at once."""
    path = tmp_path / ".lock"
    with directory_lock(path, patience=1):
        with pytest.raises(StoreUnavailable), directory_lock(path, patience=0.05):
            pass
        _eventually(lambda: _waiting_for(path) == 1, "nobody waits any more")
    with directory_lock(path, patience=5):
        pass
    _eventually(lambda: _times_open(path) == 0, "the late waiter never let go")


def test_listing_again_tells_what_was_written_since(tmp_path: Path) -> None:
    """Also where the file is as large as before, and as old: files of just now are read again."""
    refs, elsewhere = (JsonRefs.open(tmp_path, "refs") for _ in range(2))
    refs.create("old", {"n": 0})
    ref = elsewhere.create("main", {"n": 0})
    for number in range(1, 50):
        ref = elsewhere.replace(ref, {"n": number % 10})
        assert {each.name: each.value["n"] for each in refs.list()} == {
            "main": number % 10,
            "old": 0,
        }
    elsewhere.delete(ref)
    assert [each.name for each in refs.list()] == ["old"]


def test_what_is_known_of_an_old_file_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not opened again until it is replaced."""
    refs = JsonRefs.open(tmp_path, "refs")
    ref = refs.create("main", {"n": 0})
    now = time.time()
    monkeypatch.setattr("omnigraph_l1._refs.local.time.time", lambda: now + 10)
    assert refs.list() == (ref,)
    (tmp_path / "refs/main.json").chmod(0o600)  # other times: it is read again
    assert refs.list() == (ref,)
    monkeypatch.setattr(Path, "read_bytes", _never)
    assert refs.list() == (ref,)


def _never(_path: Path) -> bytes:
    raise AssertionError
