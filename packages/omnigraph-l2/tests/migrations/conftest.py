"""Old catalogs: on local disk and on a real S3 server alike."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from each_store import EACH_STORE, location_in

from omnigraph_l1 import Storage

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=EACH_STORE)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """A location for a catalog, in each kind of store."""
    return Storage.resolve(*location_in(request, tmp_path, "repo/__manifest"))


@pytest.fixture
def local(tmp_path: Path) -> Storage:
    """A location for a catalog on local disk."""
    return Storage.resolve(tmp_path / "repo" / "__manifest")
