"""A repository in which everything is there that can be looked at."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from omnigraph_l2 import Repository
from omnigraph_l2.errors import OmniGraphError

sys.path.insert(0, str(Path(__file__).parent))

from damagework import filled


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The path of a repository, and a copy of its files."""
    location = tmp_path_factory.mktemp("sound") / "repo"
    filled(location).close()
    return location, shutil.copytree(location, location.with_name("copy"))


@pytest.fixture
def repo(sound: tuple[Path, Path]) -> Iterator[Repository]:
    """A repository with edges, a branch, a tag, a run and ten commits, on local disk.

    Each test gets the same files at the same path, because a branch records where it was made.
    """
    location, copy = sound
    shutil.rmtree(location)
    shutil.copytree(copy, location)
    made = Repository.open(location)
    yield made
    with suppress(OmniGraphError):  # what is damaged cannot be flushed
        made.close()
