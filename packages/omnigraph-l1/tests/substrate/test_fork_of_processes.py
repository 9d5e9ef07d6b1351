"""os.fork after use: why workers are spawned."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ._support import elsewhere

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
]

# Whether a child hangs depends on whether the parent's last thread was idle already when it
# forked, so several are forked until one does.
FORK = """
import json, os, select, signal, warnings
import obstore.store
warnings.simplefilter("ignore")
used, children, patience = sys.argv[2] == "used", int(sys.argv[3]), float(sys.argv[4])
store = obstore.store.LocalStore(sys.argv[1])

def answers():
    if used:
        store.put("a", b"1")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        store.put("b", b"1")
        os.write(writer, b"done")
        os._exit(0)
    ready, _, _ = select.select([reader], [], [], patience)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return bool(ready)

print(json.dumps(all(answers() for _ in range(children))))
"""


def test_obstore_hangs_in_a_forked_child(tmp_path: Path) -> None:
    """Obstore *hangs* in a child that was forked after use; a guard on the process id must raise
    rather than hang.
    """
    assert elsewhere(FORK, tmp_path, "used", 20, 1.0) is False, "forked children get answers now"


def test_obstore_works_in_a_child_that_was_forked_before_use(tmp_path: Path) -> None:
    """A child that was forked before the first use works: the import alone does no harm."""
    assert elsewhere(FORK, tmp_path, "fresh", 3, 20.0) is True
