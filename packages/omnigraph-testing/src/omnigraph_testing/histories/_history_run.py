"""A run: real processes do a workload against the caller's clients, and what they saw is recorded.

Invariant: the history holds every transaction that may have been sent, whichever process was
killed. The last act of a run is to read every key once more, after all else, so that nothing
acknowledged can vanish unseen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from attrs import field, frozen

from omnigraph_testing.errors import InvalidOption
from omnigraph_testing.histories._client_factory import pack
from omnigraph_testing.histories._history_model import Append, History, Key, Read
from omnigraph_testing.histories._ndjson_files import read_journals
from omnigraph_testing.histories._process_journal import Client
from omnigraph_testing.histories._random_workload import Workload
from omnigraph_testing.histories._worker_main import Step, Worker
from omnigraph_testing.histories._worker_processes import Crew, Job

__all__ = ["Kills", "run"]

_NANOSECONDS = 1_000_000_000
_KEYS_IN_ONE_READ = 50
_LONGEST_START = 60.0


@frozen
class Kills:
    """When to SIGKILL a random worker: each time after a span of seconds drawn from ``every``.

    A killed worker begins again as a new process with a new name, and goes on with its work.
    ``most`` bounds the number of kills. The seed repeats the spans and the choices; which request
    is hit depends on the machine.
    """

    seed: int = 0
    every: tuple[float, float] = (0.2, 1.0)
    most: int | None = field(default=None, kw_only=True)


def run(
    factory: Callable[[Worker], Client],
    workload: Workload,
    *,
    directory: str | Path,
    processes: int = 4,
    transactions: int | None = None,
    seconds: float | None = None,
    kills: Kills | None = None,
    timeout: float = 120.0,
    final_reads: bool = True,
) -> History:
    """Let ``processes`` processes do the workload and return what they saw.

    ``factory`` makes a client in each process; it must be picklable. The run ends after
    ``transactions`` transactions in all, or after ``seconds`` seconds, whichever comes first; one
    of the two must be given. ``directory`` takes the journals and must hold none yet. If a worker
    has not finished ``timeout`` seconds after the deadline (or after the start, if there is no
    deadline), it raises ``WorkerFailed``. The start is when all are ready; that takes ``timeout``
    seconds at most, or 60 if that is more.
    """
    place = _prepare(directory, processes, transactions, seconds)
    job = Job(pack(factory), workload, place)
    with Crew(job) as crew:
        for index, most in enumerate(_shares(transactions, processes)):
            crew.hire(Worker(f"w{index}.0", index, 0), most=most)
        _await_all(crew, timeout)
        now = time.monotonic()
        crew.open(None if seconds is None else time.monotonic_ns() + int(seconds * _NANOSECONDS))
        _attend(crew, kills, now + timeout + (seconds or 0.0))
        if final_reads:
            _read_all(crew, place, processes, timeout)
    return read_journals(place)


def _prepare(
    directory: str | Path, processes: int, transactions: int | None, seconds: float | None
) -> Path:
    for option, value, least in (
        ("processes", processes, 1),
        ("transactions", transactions, 1),
        ("seconds", seconds, 0),
    ):
        if value is not None and value < least:
            raise InvalidOption(option=option, found=str(value), expected=f"{least} or more")
    if transactions is None and seconds is None:
        raise InvalidOption(
            option="the end of the run",
            found="missing",
            expected="a number of transactions, of seconds, or both",
        )
    place = Path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
        taken = any(place.glob("*.ndjson"))
    except OSError as error:
        raise InvalidOption(
            option="directory", found=f"{place} ({error})", expected="a directory to write to"
        ) from error
    if taken:
        raise InvalidOption(
            option="directory",
            found=f"{place}, which holds journals already",
            expected="one directory for each run",
        )
    return place


def _shares(transactions: int | None, processes: int) -> list[int | None]:
    if transactions is None:
        return [None] * processes
    each, rest = divmod(transactions, processes)
    return [share for index in range(processes) if (share := each + (index < rest))]


def _await_all(crew: Crew, timeout: float) -> None:
    """Listen until everybody is ready.

    How long a Python takes to start says nothing about the clients, so a short time-out, which is
    meant for those, does not hold for it.
    """
    patience = time.monotonic() + max(timeout, _LONGEST_START)
    while not crew.all_ready():
        _listen(crew, patience)


def _attend(crew: Crew, kills: Kills | None, patience: float) -> None:
    """Listen and kill until everybody is done."""
    moments = _moments(kills)
    next_kill = next(moments, None)
    random = Random(f"{kills.seed}/victims" if kills else 0)  # noqa: S311  # repeatable
    while crew.names:
        until = patience if next_kill is None else min(patience, next_kill)
        _listen(crew, patience, until)
        if next_kill is not None and time.monotonic() >= next_kill:
            crew.kill(random.randrange)
            next_kill = next(moments, None)


def _moments(kills: Kills | None) -> Iterator[float]:
    """Yield the moments of the kills, each counted from the one before."""
    if kills is None:
        return
    random = Random(kills.seed)  # noqa: S311  # repeatable
    done = 0
    while kills.most is None or done < kills.most:
        yield time.monotonic() + random.uniform(*kills.every)
        done += 1


def _listen(crew: Crew, patience: float, until: float | None = None) -> None:
    now = time.monotonic()
    if now >= patience:
        raise crew.find_overdue()
    crew.listen((patience if until is None else until) - now)


def _read_all(crew: Crew, place: Path, processes: int, timeout: float) -> None:
    """Read every key that was written to, a branch at a time, in a process of its own."""
    keys: dict[str | None, dict[Key, None]] = {}
    for transaction in read_journals(place).transactions:
        for op in transaction.ops:
            if isinstance(op, Append):
                keys.setdefault(transaction.branch, {})[op.key] = None
    steps: list[Step] = []
    for branch, of_branch in keys.items():
        names = list(of_branch)
        steps += (
            (branch, tuple(map(Read, names[start : start + _KEYS_IN_ONE_READ])))
            for start in range(0, len(names), _KEYS_IN_ONE_READ)
        )
    if steps:
        crew.open(None)
        crew.hire(Worker("final", processes, 0), most=None, steps=steps)
        _await_all(crew, timeout)
        _attend(crew, None, time.monotonic() + timeout)
