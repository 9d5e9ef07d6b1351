"""The recorder sees what a process does to files, whichever call it uses, and misses nothing."""

# These tests are about single calls of the system, which os has and Path hides.

# ruff: noqa: PTH102, PTH104, PTH106, PTH108, PTH115, PTH211

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from campaign.power_cuts import Trace
from campaign.traced_crash import TracedCrash
from campaign.tracing.file_operations import Mark, Write, kind_of
from campaign.tracing.tracing_errors import Untraceable
from omnigraph_testing import InvalidOption, UnexpectedEnding, mark

AT_FDCWD = -100
AT_SYMLINK_FOLLOW = 0x400
LIBC = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: Any) -> int:
    """Call the C library, and raise if it fails."""
    result = getattr(LIBC, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return int(result)


def steps(trace: Trace) -> list[str]:
    """Say what was recorded, with paths below the root."""
    return [str(each).replace(trace.root + "/", "") for each in trace.operations]


def names(root: Path) -> None:
    """Give, move and take names in every way."""
    os.mkdir(root / "d")
    os.close(os.open(root / "d" / "a", os.O_CREAT | os.O_WRONLY))
    os.close(os.open(root / "d" / "a", os.O_CREAT | os.O_WRONLY))  # is there: nothing
    os.mknod(root / "n")
    os.link(root / "d" / "a", root / "b")
    os.symlink("b", root / "s")
    os.rename(root / "d" / "a", root / "b")  # the same file: nothing
    os.rename(root / "b", root / "c")
    call("renameat2", AT_FDCWD, os.fsencode(root / "c"), AT_FDCWD, os.fsencode(root / "n"), 2)
    os.unlink(root / "s")
    os.unlink(root / "d" / "a")
    os.rmdir(root / "d")
    for path, error in ((root / "absent", FileNotFoundError), (root, IsADirectoryError)):
        with pytest.raises(error):
            os.unlink(path)


def relative_names(root: Path) -> None:
    """Use the working directory, and descriptors of directories."""
    os.chdir(root)
    os.mkdir("d")
    handle = os.open("d", os.O_RDONLY)
    os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.rename("f", "../g", src_dir_fd=handle, dst_dir_fd=handle)
    os.fsync(handle)
    os.unlink("g")


def contents(root: Path) -> None:
    """Write to a file in every way."""
    handle = os.open(root / "f", os.O_CREAT | os.O_RDWR)
    os.write(handle, b"abc")
    os.pwrite(handle, b"X", 1)
    os.writev(handle, [b"de", b"f"])
    os.pwritev(handle, [b"Y", b"Z"], 4)
    duplicate = os.dup(handle)
    os.write(duplicate, b"g")
    os.ftruncate(handle, 5)
    os.truncate(root / "f", 4)
    os.posix_fallocate(handle, 0, 8)
    appending = os.open(root / "f", os.O_WRONLY | os.O_APPEND)
    os.write(appending, b"end")
    other = os.open(root / "g", os.O_CREAT | os.O_WRONLY)
    os.copy_file_range(handle, other, 3, 0)
    os.sendfile(other, handle, 3, 8)
    os.fsync(handle)
    os.fdatasync(other)
    os.close(os.open(root / "g", os.O_WRONLY | os.O_TRUNC))
    os.sync()


def synchronous(root: Path) -> None:
    """Write to a file that was opened so that each write is also a sync."""
    handle = os.open(root / "f", os.O_CREAT | os.O_WRONLY | os.O_DSYNC)
    os.write(handle, b"abc")
    os.pwritev(os.open(root / "f", os.O_WRONLY), [b"Y"], 0, os.RWF_DSYNC)


def unnamed(root: Path) -> None:
    """Write a file that has no name yet, then give it one."""
    handle = os.open(root, os.O_TMPFILE | os.O_WRONLY)
    os.write(handle, b"abc")
    source = f"/proc/self/fd/{handle}".encode()
    call("linkat", AT_FDCWD, source, AT_FDCWD, os.fsencode(root / "f"), AT_SYMLINK_FOLLOW)


def after_unlink(root: Path) -> None:
    """Go on writing to a file without a name, and create another, likely with the same inode."""
    for _ in range(3):
        handle = os.open(root / "f", os.O_CREAT | os.O_WRONLY)
        os.unlink(root / "f")
        os.write(handle, b"abc")
        os.close(handle)


def from_outside(root: Path) -> None:
    """Move files in and out."""
    outside = root.parent / "outside"
    outside.write_bytes(b"abc")
    os.rename(outside, root / "f")
    os.rename(root / "f", outside)
    os.link(outside, root / "g")


def mapped(root: Path) -> None:
    """Write through memory."""
    (root / "f").write_bytes(bytes(10))
    with (root / "f").open("r+b") as file, mmap.mmap(file.fileno(), 10) as memory:
        memory[0] = 1


def ring(_root: Path) -> None:
    """Ask for io_uring."""
    with pytest.raises(OSError, match="syscall") as refused:
        call("syscall", 425, 4, ctypes.create_string_buffer(120))
    assert refused.value.errno == errno.ENOSYS


def threads(root: Path) -> None:
    """Write from many threads at once, each announcing what it has finished."""

    def work(name: str) -> None:
        for number in range(5):
            (root / f"{name}-{number}").write_bytes(name.encode() * 10)
            mark(f"{name}-{number}")

    workers = [threading.Thread(target=work, args=(name,)) for name in "abcdef"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def processes(root: Path) -> None:
    """Let another program write."""
    code = f"open({str(root / 'f')!r}, 'w').write('abc')"
    subprocess.run([sys.executable, "-c", code], check=True)
    subprocess.run(["/bin/sh", "-c", f"echo def >> '{root}/f'"], check=True)


def leave_one_running(root: Path) -> None:
    """Start a process that never ends, and go."""
    other = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    (root / "pid").write_text(str(other.pid))


def anything(root: Path, seed: int) -> None:
    """Do two hundred random things to a few names."""
    rng = random.Random(seed)

    def path() -> str:
        return str(root / rng.choice(["", "d", "e"]) / rng.choice("abcd"))

    def write() -> None:
        how = os.O_WRONLY | rng.choice([0, os.O_CREAT, os.O_CREAT | os.O_TRUNC, os.O_APPEND])
        handle = os.open(path(), how)
        try:
            os.pwrite(handle, rng.randbytes(rng.randint(0, 9000)), rng.randint(0, 6000))
        finally:
            os.close(handle)

    things = [
        write,
        write,
        lambda: os.mkdir(root / rng.choice(["d", "e"])),
        lambda: os.rename(path(), path()),
        lambda: os.rename(root / "d", root / "e"),
        lambda: os.link(path(), path()),
        lambda: os.symlink(rng.choice("abcd"), path()),
        lambda: os.unlink(path()),
        lambda: os.truncate(path(), rng.randint(0, 5000)),
    ]
    for _ in range(200):
        try:
            rng.choice(things)()
        except OSError:
            continue


def left(root: Path) -> dict[str, object]:
    """Read a whole tree."""
    return {
        path.relative_to(root).as_posix(): os.readlink(path)
        if path.is_symlink()
        else (path.is_dir() or path.read_bytes())
        for path in root.rglob("*")
    }


def test_names(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """Each way to give, move and take a name is one operation; what changes nothing is none."""
    assert steps(traced_crash.record(names, tmp_path, root=tmp_path)) == [
        "mkdir d",
        "create d/a",
        "create n",
        "link b",
        "symlink s",
        "rename b to c",
        "exchange c and n",
        "unlink s",
        "unlink d/a",
        "unlink d",
    ]


def test_relative_names(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """Names relative to the working directory or to a descriptor are resolved."""
    assert steps(traced_crash.record(relative_names, tmp_path, root=tmp_path)) == [
        "mkdir d",
        "create d/f",
        "rename d/f to g",
        "fsync d",
        "unlink g",
    ]


def test_contents(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """Each way to change a file's bytes is seen with its offset and what arrived."""
    trace = traced_crash.record(contents, tmp_path, root=tmp_path)
    assert steps(trace) == [
        "create f",
        "write f [0:3]",
        "write f [1:2]",
        "write f [3:6]",
        "write f [4:6]",
        "write f [6:7]",
        "truncate f to 5",
        "truncate f to 4",
        "truncate f to 8",
        "write f [8:11]",
        "create g",
        "write g [0:3]",
        "write g [3:11]",
        "fsync f",
        "fsync g",
        "truncate g to 0",
        "sync",
    ]
    data = [each.data for each in trace.operations if isinstance(each, Write)]
    assert data[:6] == [b"abc", b"X", b"def", b"YZ", b"g", b"end"]
    assert data[6:] == [b"aXc", b"d\0\0\0\0end"]


def test_synchronous_writes(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """A write that implies a sync is recorded as both."""
    written = ["write f [0:3]", "fsync f", "write f [0:1]", "fsync f"]
    assert steps(traced_crash.record(synchronous, tmp_path, root=tmp_path)) == [
        "create f",
        *written,
    ]


def test_a_file_without_a_name(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """A file that gets its name last has its bytes when it gets it."""
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"this file system has no unnamed files: {error}")
    trace = traced_crash.record(unnamed, tmp_path, root=tmp_path)
    assert [kind_of(each) for each in trace.operations] == ["write", "link"]
    assert {each.file for each in trace.operations} == {trace.operations[0].file}


def test_inode_numbers_that_come_back(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """A file that was created later is another file, though the system reuses its inode."""
    trace = traced_crash.record(after_unlink, tmp_path, root=tmp_path)
    written = [each.file for each in trace.operations if isinstance(each, Write)]
    assert len(written) == len(set(written)) == 3


def test_files_from_outside(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """What comes in is created and written here; what goes out is unlinked."""
    root = tmp_path / "root"
    root.mkdir()
    assert steps(traced_crash.record(from_outside, root, root=root)) == [
        "create f",
        "write f [0:3]",
        "unlink f",
        "create g",
        "write g [0:3]",
    ]


def test_writing_through_memory_is_refused(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """A shared mapping cannot be seen, so there is no trace rather than a wrong one."""
    with pytest.raises(Untraceable, match="mapped for writing"):
        traced_crash.record(mapped, tmp_path, root=tmp_path)


def test_io_uring_is_not_there(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """A process cannot write past the recorder: io_uring fails as on a kernel without it."""
    traced_crash.record(ring, tmp_path, root=tmp_path)


def test_threads_are_put_in_order(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """Before each mark of a thread stand all operations that the thread had done by then."""
    trace = traced_crash.record(threads, tmp_path, root=tmp_path)
    assert len(trace.marks) == 30
    for position, operation in enumerate(trace.operations):
        if isinstance(operation, Mark):
            before = [
                kind_of(each)
                for each in trace.operations[:position]
                if each.path.endswith("/" + operation.text)
            ]
            assert before == ["create", "write"]


def test_other_processes_are_followed(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """What a child process does counts as well, whatever program it is."""
    trace = traced_crash.record(processes, tmp_path, root=tmp_path)
    assert steps(trace) == ["create f", "write f [0:3]", "write f [3:7]"]


def test_nothing_that_was_followed_is_left(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """A process that the function leaves behind ends with the recording."""
    traced_crash.record(leave_one_running, tmp_path, root=tmp_path)
    state = Path("/proc", (tmp_path / "pid").read_text(), "stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_what_stands_there_before_has_an_identity(
    traced_crash: TracedCrash, tmp_path: Path
) -> None:
    """Files and directories that were there are followed like new ones."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("old")
    os.link(tmp_path / "d" / "f", tmp_path / "g")
    trace = traced_crash.record(os.rename, tmp_path / "d", tmp_path / "e", root=tmp_path)
    assert steps(trace) == ["rename d to e"]


@pytest.mark.parametrize("seed", range(4))
def test_the_record_replayed_is_what_was_left(
    traced_crash: TracedCrash, tmp_path: Path, seed: int
) -> None:
    """With nothing lost, the operations lead from the first tree to the very tree that is left."""
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "d" / "a").write_text("before")
    os.link(root / "d" / "a", root / "b")
    trace = traced_crash.record(anything, root, seed, root=root)
    assert len(trace.operations) > 50
    replayed = trace.after_all().materialise(tmp_path / "replayed")
    assert left(replayed) == left(root)


def test_a_function_that_fails_leaves_no_trace(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """A record is made of a run that finished; otherwise the traceback is shown."""
    with pytest.raises(UnexpectedEnding, match="FileNotFoundError"):
        traced_crash.record(os.unlink, tmp_path / "absent", root=tmp_path)


def test_a_root_that_is_not_there_is_refused(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """The root must be a directory before the run begins."""
    with pytest.raises(InvalidOption, match="root"):
        traced_crash.record(os.getpid, root=tmp_path / "absent")
