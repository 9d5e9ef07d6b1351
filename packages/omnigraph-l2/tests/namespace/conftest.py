"""A repository and the namespace that other programs find its tables in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from two_people import local, repo

from omnigraph_l2 import Repository
from omnigraph_l2.namespace import GraphNamespace

__all__ = ["local", "namespace", "near", "repo"]

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def namespace(repo: Repository) -> Iterator[GraphNamespace]:
    """The namespace, as a program elsewhere opens it."""
    options = {f"storage.{name}": value for name, value in repo._root.storage.lance_options.items()}
    opened = GraphNamespace(repo.uri, actor="client", **options)
    yield opened
    opened.close()


@pytest.fixture
def near(local: Repository) -> Iterator[GraphNamespace]:
    """The same, of the repository on local disk."""
    opened = GraphNamespace(local.uri)
    yield opened
    opened.close()
