"""Repositories for the proofs with real processes: on local disk and on a real S3 server."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fleet import Place


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.integration)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where a repository can be made, in each kind of store."""
    if request.param == "local":
        return Place(uri=str(tmp_path / "repo"), options=None)
    store = request.getfixturevalue("s3_store")
    return Place(uri=store.uri("repo"), options=store.storage_options)


@pytest.fixture
def processes() -> None:
    """Say that a test starts processes: it is an integration test then."""
