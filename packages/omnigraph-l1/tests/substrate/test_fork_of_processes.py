"""os.fork after use: why workers are spawned."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ._support import elsewhere

FORK = """
import json, os, select, signal, warnings
import obstore.store
warnings.simplefilter("ignore")
store = obstore.store.LocalStore(sys.argv[1])
if sys.argv[2] == "used":
    store.put("a", b"1")
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    store.put("b", b"1")
    os.write(writer, b"done")
    os._exit(0)
ready, _, _ = select.select([reader], [], [], float(sys.argv[3]))
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print(json.dumps(bool(ready)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_obstore_hangs_in_a_forked_child(tmp_path: Path) -> None:
    """Obstore *hangs* in a child that was forked after use; a guard on the process id must raise
    rather than hang.
    """
    assert elsewhere(FORK, tmp_path, "used", 1.5) is False, "the forked child got its answer now"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_obstore_works_in_a_child_that_was_forked_before_use(tmp_path: Path) -> None:
    """A child that was forked before the first use works: the import alone does no harm."""
    assert elsewhere(FORK, tmp_path, "fresh", 20) is True
