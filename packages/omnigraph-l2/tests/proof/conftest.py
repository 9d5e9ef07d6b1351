"""Repositories for the proofs with real processes: on local disk and on a real S3 server."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from each_store import EACH_STORE, location_in

sys.path.insert(0, str(Path(__file__).parent))

from fleet import Location


@pytest.fixture(params=EACH_STORE)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """Where a repository can be made, in each kind of store."""
    return Location(*location_in(request, tmp_path))
