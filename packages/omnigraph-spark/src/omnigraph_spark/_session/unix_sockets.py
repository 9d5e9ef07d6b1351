"""Unix domain sockets between Spark's JVM and its Python workers on one machine.

Invariant: no other user can connect. Spark asks for no secret on such a socket, so it is in a
folder that only this user can enter. Used only where all processes run on this machine.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

__all__ = ["socket_settings"]

_ENABLED: Final = "spark.python.unix.domain.socket.enabled"
_FOLDER: Final = "spark.python.unix.domain.socket.dir"
_MOST_LETTERS: Final = 103 - len("/.00000000-0000-0000-0000-000000000000.sock")
"""The maximum length of the folder's path: paths of sockets have at most 104 bytes."""


def socket_settings(config: Mapping[str, str]) -> dict[str, str]:
    """Return settings for Unix domain sockets, unless the caller configures sockets.

    Over TCP, Spark's default, each task in Python waits 40 ms: its input comes in two small
    packets, and the second is sent only after the first is acknowledged.
    """
    if _ENABLED in config or _FOLDER in config or not hasattr(socket, "AF_UNIX"):
        return {}
    folder = _make_folder(os.getpid())
    if len(os.fsencode(folder)) > _MOST_LETTERS:
        return {}
    return {_ENABLED: "true", _FOLDER: folder}


@lru_cache(maxsize=1)
def _make_folder(owner: int) -> str:
    """Create a folder for this process that no other user can enter."""
    folder = tempfile.mkdtemp(prefix="omnigraph-")

    def remove_folder() -> None:
        if os.getpid() == owner:  # not in a process forked from this one
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove_folder)
    return folder
