"""The journal of one process: what it is about to ask, then what was answered.

Invariant: an invocation is in the file before the transaction is sent, so a process that is killed
at any moment leaves every transaction it may have begun. One ``write`` a line, into a file of its
own; the kernel keeps what was written when the process dies.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar

from omnigraph_testing.errors import Aborted, InvalidHistory, InvalidOption
from omnigraph_testing.histories._history_model import Element, MicroOp, Outcome, Read
from omnigraph_testing.histories._ndjson_files import answer, encode, invocation

__all__ = ["Client", "Journal", "Recorder", "Values", "count_invocations", "note_of"]

Values = Sequence[Sequence[Element] | None]

_NOTE_LENGTH = 200
Self = TypeVar("Self", bound="Journal")


class Client(Protocol):
    """What a run needs to know of the store that is tried."""

    def transact(self, ops: Sequence[MicroOp], branch: str | None) -> Values:
        """Do all operations as one transaction.

        Return one item for each: the list that was read, or None for an append. Raise ``Aborted``
        if certainly nothing happened; after any other exception it counts as unknown.
        """


class Journal:
    """The file of one process or thread, which ``process`` names. It must not exist yet."""

    def __init__(
        self, path: str | Path, process: str, *, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._process = process
        self._clock = clock
        self._number = 0
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except OSError as error:
            raise InvalidOption(
                option="the path of a journal",
                found=f"{path} ({error.strerror})",
                expected="a new file in a directory that can be written to",
            ) from error

    def close(self) -> None:
        """Close the file. The journal is whole without it, too."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self: Self) -> Self:  # noqa: PYI019  # typing.Self needs Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _write(self, event: dict[str, Any]) -> None:
        line = encode(event)
        while line:
            line = line[os.write(self._file, line) :]


class Recorder(Journal):
    """Records transactions of list appends and reads."""

    def transact(self, client: Client, ops: Sequence[MicroOp], branch: str | None = None) -> None:
        """Let ``client`` do ``ops`` and record what came of it."""
        number = self._next()
        at = self._clock()
        self._write(invocation(number, ops, process=self._process, at=at, branch=branch))
        try:
            values = client.transact(ops, branch)
        except Aborted as reason:
            event = answer(number, Outcome.FAILED, at=self._clock(), note=reason.reason)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001  # a panic of a Rust library is no Exception
            event = answer(number, Outcome.UNKNOWN, at=self._clock(), note=note_of(error))
        else:
            at = self._clock()
            event = answer(number, Outcome.OK, at=at, ops=_filled(ops, values, self._process))
        self._write(event)


def note_of(error: BaseException) -> str:
    """Write an exception on a short line."""
    return f"{type(error).__name__}: {error}"[:_NOTE_LENGTH]


def _filled(ops: Sequence[MicroOp], values: Values, process: str) -> list[MicroOp]:
    values = list(values)
    if len(values) != len(ops):
        raise InvalidHistory(
            source=f"client of {process}",
            detail=f"it returned {len(values)} values for {len(ops)} operations; return one for "
            "each, None for an append",
        )
    filled: list[MicroOp] = []
    for op, value in zip(ops, values, strict=True):
        if isinstance(op, Read):
            if value is None or isinstance(value, str):
                raise InvalidHistory(
                    source=f"client of {process}",
                    detail=f"it returned {value!r} for a read, expected a list of elements",
                )
            filled.append(Read(op.key, tuple(value)))
        else:
            filled.append(op)
    return filled


def count_invocations(path: str | Path) -> int:
    """Count the transactions that a journal says were begun."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        return 0
    return sum(line.startswith(b'{"event":"invoke"') for line in content.split(b"\n")[:-1])
