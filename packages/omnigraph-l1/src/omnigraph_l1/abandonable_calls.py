"""Calls that cannot be cancelled, made in a thread of their own, so that waiting for one can end.

Invariant: an abandoned call goes on in its thread, and may still have its effect. It keeps neither
the interpreter from exiting nor its exit status from being reported.
"""

from __future__ import annotations

import atexit
import contextvars
import ctypes
import math
import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, Generic, TypeVar

import omnigraph_l1.deadlines

__all__ = ["PendingCall"]

_T = TypeVar("_T")

_MOST_IDLE: Final = 16

_running: set[PendingCall[Any]] = set()
_idle: list[SimpleQueue[Callable[[], None]]] = []
"""The queues of threads that wait for a call: starting a thread costs three times as much."""


class PendingCall(Generic[_T]):
    """A call that was begun."""

    def __init__(self, call: Callable[[], _T]) -> None:
        self._call: Callable[[], _T] | None = call
        self._ended = threading.Event()
        self._result: _T | None = None
        self._failure: BaseException | None = None
        _running.add(self)
        _run_in_thread(partial(contextvars.copy_context().run, self._run))

    def _run(self) -> None:
        try:
            if self._call is not None:
                self._result = self._call()
        except BaseException as error:  # noqa: BLE001 - the caller gets it, in its own thread
            self._failure = error
        finally:
            self._call = None
            _running.discard(self)
            self._ended.set()

    def wait(self, seconds: float) -> bool:
        """Wait until the call has ended; return whether it has."""
        return self._ended.wait(seconds)

    def result(self) -> _T:
        """Return what an ended call returned, or raise what it raised."""
        failure = self._failure
        if failure is None:
            return self._result  # type: ignore[return-value]  # it has ended without a failure
        try:
            raise failure
        finally:
            del failure
            self._failure = None


def _run_in_thread(call: Callable[[], None]) -> None:
    try:
        _idle.pop().put(call)
    except IndexError:
        calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        calls.put(call)
        thread = threading.Thread(target=_serve, args=(calls,), name="omnigraph-call", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread can be started any more: the interpreter is exiting
            call()


def _serve(calls: SimpleQueue[Callable[[], None]]) -> None:
    """Make one call after another; a thread that is not needed any more ends."""
    while True:
        calls.get()()
        if len(_idle) >= _MOST_IDLE:
            return
        _idle.append(calls)


def _forget_in_child() -> None:
    _running.clear()
    _idle.clear()


def _spare_exit_status() -> None:
    """Let a thread that ends during the exit of the interpreter wait instead of aborting all.

    Python ends a daemon thread that returns from a call then by unwinding its stack. Rust answers
    an unwinding that it did not begin by ``abort``, and the process loses its exit status. From
    Python 3.14 on such a thread waits by itself.

    Where the abort is not that of such a thread, nothing would end the process: an alarm does.
    """
    if not _running:
        return
    library = ctypes.CDLL(None)
    library.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    library.signal.restype = ctypes.c_void_p
    library.signal(signal.SIGALRM, None)  # the default: it ends the process
    library.alarm(math.ceil(omnigraph_l1.deadlines.EXIT_SECONDS))
    library.signal(signal.SIGABRT, ctypes.cast(library.pause, ctypes.c_void_p))


os.register_at_fork(after_in_child=_forget_in_child)
atexit.register(_spare_exit_status)
