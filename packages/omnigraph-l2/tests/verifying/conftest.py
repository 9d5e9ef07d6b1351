"""A repository in which everything is there that can be looked at."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from omnigraph_l2 import Repository
from omnigraph_l2.errors import OmniGraphError

sys.path.insert(0, str(Path(__file__).parent))

from damagework import filled


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """A repository with edges, a branch, a tag, a run and ten commits, on local disk."""
    made = filled(tmp_path / "repo")
    yield made
    with suppress(OmniGraphError):  # what is damaged cannot be flushed
        made.close()
