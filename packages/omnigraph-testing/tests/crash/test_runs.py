"""The crash fixture: real processes, how they end, and that none of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph_testing import (
    AtMoment,
    Crash,
    CrashDeadline,
    Ending,
    InvalidOption,
    UnusableFunction,
    mark,
)


def add(first: int, *, number: int) -> int:
    """Add, and talk about it."""
    mark("begun")
    sys.stdout.write("adding\n")
    sys.stderr.write("still adding\n")
    mark("done")
    return first + number


def fail(text: str) -> None:
    """Raise."""
    raise LookupError(text)


def leave(status: int) -> None:
    """Exit at once."""
    os._exit(status)


def hang(place: Path) -> None:
    """Say who is here, and never return."""
    (place / "pid").write_text(str(os.getpid()))
    while True:
        signal.pause()


def start_another(place: Path) -> None:
    """Start a process that never ends, and leave it behind."""
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    (place / "child").write_text(str(child.pid))


def until(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait until something holds, and tell whether it came about."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def is_gone(pid: int) -> bool:
    """Tell whether a process is no more, or only waits for its parent to notice."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def test_a_run_that_finishes_hands_everything_back(omnigraph_crash: Crash) -> None:
    """Value, output and marks of an undisturbed run are all there."""
    outcome = omnigraph_crash.run(add, 2, number=3)
    assert outcome.finished
    assert outcome.value == 5
    assert outcome.stdout == "adding\n"
    assert outcome.stderr == "still adding\n"
    assert outcome.marks == ("begun", "done")


def test_an_exception_comes_back_as_text(omnigraph_crash: Crash) -> None:
    """A run that raises says what, with the traceback."""
    outcome = omnigraph_crash.run(fail, "no such thing")
    assert outcome.raised
    assert outcome.error_type == "LookupError"
    assert outcome.traceback is not None
    assert "raise LookupError(text)\nLookupError: no such thing" in outcome.traceback


def test_an_exit_of_its_own_is_neither(omnigraph_crash: Crash) -> None:
    """A process that leaves by itself has died, with its status."""
    outcome = omnigraph_crash.run(leave, 7)
    assert outcome.ending is Ending.DIED
    assert outcome.exit_status == 7


def test_what_cannot_be_sent_to_a_process_is_refused(omnigraph_crash: Crash) -> None:
    """A lambda, or an argument that cannot be pickled, is a typed error before anything runs."""
    with pytest.raises(UnusableFunction, match="top level"):
        omnigraph_crash.run(lambda: None)
    with pytest.raises(UnusableFunction, match="leave"):
        omnigraph_crash.run(leave, sys)


def test_a_hang_ends_at_the_deadline(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """A run that does not end is killed and named, with what it said last."""
    script = tmp_path / "hang.py"
    script.write_text(
        "import os, signal, sys\nprint(os.getpid(), file=sys.stderr, flush=True)\nsignal.pause()\n"
    )
    with pytest.raises(CrashDeadline, match=r"hang\.py did not end within 8 s") as caught:
        omnigraph_crash.run_script(script, deadline=8.0)  # which begins before Python has started
    assert is_gone(int(caught.value.stderr))


def test_no_grandchild_is_left(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """What the process started and left is gone as well."""
    omnigraph_crash.run(start_another, tmp_path)
    assert until(lambda: is_gone(int((tmp_path / "child").read_text())))


@pytest.mark.skipif(sys.platform != "linux", reason="needs the parent-death signal of Linux")
def test_it_dies_with_its_parent(tmp_path: Path) -> None:
    """If the test run itself is killed, the process under test does not stay behind."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import signal, sys\n"
        "from pathlib import Path\n"
        "from omnigraph_testing import Crash\n"
        "def hang(place):\n"
        "    import os\n"
        "    (place / 'half').write_text(str(os.getpid()))\n"
        "    (place / 'half').rename(place / 'pid')\n"
        "    signal.pause()\n"
        "if __name__ == '__main__':\n"
        "    here = Path(sys.argv[1])\n"
        "    Crash(here / 'runs').run(hang, here)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)])
    try:
        assert until((tmp_path / "pid").exists)
    finally:
        parent.kill()
        parent.wait()
    assert until(lambda: is_gone(int((tmp_path / "pid").read_text())))


def test_a_script_without_a_guard_is_told(tmp_path: Path) -> None:
    """A script that would start itself for ever fails with the line that it lacks."""
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import sys\n"
        "from omnigraph_testing import Crash\n"
        "def job():\n"
        "    pass\n"
        "print(Crash(sys.argv[1]).run(job).traceback)\n"
    )
    command = [sys.executable, str(script), str(tmp_path / "runs")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 'guard that with if __name__ == "__main__"' in found.stdout


def test_a_random_moment_is_repeatable(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """A seed names a moment; a process that is still running then is killed."""
    moment = AtMoment(5, within=0.2)
    assert moment.delay == AtMoment(5, within=0.2).delay != AtMoment(6, within=0.2).delay
    outcome = omnigraph_crash.run(hang, tmp_path, kill=moment)
    assert outcome.killed


def test_a_random_moment_may_be_too_late(omnigraph_crash: Crash) -> None:
    """A process that was done before is no error: chance does not promise anything."""
    assert omnigraph_crash.run(add, 1, number=1, kill=AtMoment(1, within=500.0)).finished


def test_a_script_is_run(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """A script has its arguments and is the main module, as when it is started by hand."""
    script = tmp_path / "job.py"
    script.write_text(
        "import sys\n"
        "from omnigraph_testing import mark\n"
        "assert __name__ == '__main__'\n"
        "mark('job begun')\n"
        "print(*sys.argv[1:])\n"
    )
    outcome = omnigraph_crash.run_script(script, "one", "two")
    assert outcome.finished
    assert outcome.stdout == "one two\n"
    assert outcome.marks == ("job begun",)


def test_a_script_that_is_not_there_is_refused(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """A wrong path is named before anything runs."""
    with pytest.raises(InvalidOption, match=r"absent\.py"):
        omnigraph_crash.run_script(tmp_path / "absent.py")


def test_mark_outside_of_the_harness_does_nothing() -> None:
    """Code under test may keep its marks where nobody listens."""
    mark("nobody hears this")


def test_what_is_left_can_be_listed(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """The listing has each path below the root with its size."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"123")
    assert [str(each) for each in omnigraph_crash.tree(tmp_path)] == ["a/", "a/b (3 bytes)"]
