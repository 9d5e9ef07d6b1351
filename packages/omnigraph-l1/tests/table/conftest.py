"""Tables for the tests of the table handle: on local disk and on a real S3 server alike."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from omnigraph_l1 import Storage, Table

sys.path.insert(0, str(Path(__file__).parent))

from people import SCHEMA, rows

BOTH = [pytest.param("local"), pytest.param("s3", marks=pytest.mark.integration)]


@pytest.fixture(params=BOTH)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """A location for a table, in each kind of store."""
    if request.param == "local":
        return Storage.resolve(tmp_path / "with space" / "täble")
    store = request.getfixturevalue("s3_store")
    return Storage.resolve(store.uri("with space/täble"), store.storage_options)


@pytest.fixture
def table(storage: Storage) -> Table:
    """A new, empty table in each kind of store."""
    return Table.create(storage, SCHEMA)


@pytest.fixture
def local(tmp_path: Path) -> Table:
    """A new, empty table on local disk."""
    return Table.create(tmp_path / "table", SCHEMA)


@pytest.fixture
def base(table: Table) -> Table:
    """Rows in two fragments."""
    return table.append(rows("a", "b")).table.append(rows("c")).table
