"""How the processes of one machine talk: Spark's JVM, and the Python that it starts.

Always: nobody else can connect. Spark asks for no secret on such a socket, so it lies in a folder
of our own. Only where all processes run on this machine: a folder here is none elsewhere.
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

__all__ = ["local_sockets"]

_ENABLED: Final = "spark.python.unix.domain.socket.enabled"
_FOLDER: Final = "spark.python.unix.domain.socket.dir"
_MOST_LETTERS: Final = 103 - len("/.00000000-0000-0000-0000-000000000000.sock")
"""How long the folder's name may be: a socket has 104 bytes for its name, on Linux some more."""


def local_sockets(given: Mapping[str, str]) -> dict[str, str]:
    """Give the settings for it, unless the caller has settings of their own.

    Over TCP, as is Spark's default, each task in Python waits 40 ms: what it is given comes in two
    small pieces, and the second one is not sent before the first one is acknowledged.
    """
    if _ENABLED in given or _FOLDER in given or not hasattr(socket, "AF_UNIX"):
        return {}
    folder = _folder(os.getpid())
    if len(os.fsencode(folder)) > _MOST_LETTERS:
        return {}
    return {_ENABLED: "true", _FOLDER: folder}


@lru_cache(maxsize=1)
def _folder(owner: int) -> str:
    """Make the folder of this process, which nobody else may enter."""
    folder = tempfile.mkdtemp(prefix="omnigraph-")

    def removed() -> None:
        if os.getpid() == owner:  # a process that was forked from this one has not made it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(removed)
    return folder
