"""Old catalogs: on local disk and on a real S3 server alike."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from omnigraph_l1 import Storage

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.integration)])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """A place for a catalog, in each kind of store."""
    if request.param == "local":
        return Storage.resolve(tmp_path / "repo" / "__manifest")
    store = request.getfixturevalue("s3_store")
    return Storage.resolve(store.uri("repo/__manifest"), store.storage_options)


@pytest.fixture
def local(tmp_path: Path) -> Storage:
    """A place for a catalog on local disk."""
    return Storage.resolve(tmp_path / "repo" / "__manifest")
