"""Places in a real S3 server behind a gateway that ignores conditions, with each version store."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from omnigraph_l1 import Storage, Table
from omnigraph_testing import FaultyS3, IgnoreConditions, Rule

sys.path.insert(0, str(Path(__file__).parent))

from undecided import SCHEMA, rows

OURS = ("sqlite", "bucket")
EACH = (*OURS, "dynamodb")


@pytest.fixture
def careless(faulty_s3: FaultyS3) -> FaultyS3:
    """An S3 server that carries out every PUT, whatever its conditions say."""
    faulty_s3.inject(Rule(IgnoreConditions()))
    return faulty_s3


def place_of(kind: str, request: pytest.FixtureRequest, careless: FaultyS3) -> Storage:
    """Give a place there, and what decides its versions."""
    options = dict(careless.storage_options)
    if kind == "dynamodb":
        table = request.getfixturevalue("dynamodb_table")
        uri = careless.uri("a table").replace("s3://", "s3+ddb://")
        return Storage.resolve(
            f"{uri}?ddbTableName={table.name}", {**options, **table.storage_options}
        )
    if kind == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        options["version_store"] = f"sqlite://{folder}/versions%20here.db"
    else:
        honest = request.getfixturevalue("s3_store").below("decides")
        options["version_store"] = honest.uri()
        options["version_store.aws_endpoint"] = honest.endpoint
    return Storage.resolve(careless.uri("a table"), options)


@pytest.fixture(params=EACH)
def storage(request: pytest.FixtureRequest, careless: FaultyS3) -> Storage:
    """A place with each kind of version store."""
    return place_of(request.param, request, careless)


@pytest.fixture(params=OURS)
def ours(request: pytest.FixtureRequest, careless: FaultyS3) -> Storage:
    """A place with each kind of version store that we wrote."""
    return place_of(request.param, request, careless)


@pytest.fixture
def dynamodb(request: pytest.FixtureRequest, careless: FaultyS3) -> Storage:
    """A place with Lance's own."""
    return place_of("dynamodb", request, careless)


@pytest.fixture
def plain(careless: FaultyS3) -> Storage:
    """The same place, for somebody who knows of no version store."""
    return Storage.resolve(careless.uri("a table"), careless.storage_options)


@pytest.fixture
def base(ours: Storage) -> Table:
    """Rows in two versions."""
    return Table.create(ours, SCHEMA).append(rows("a", "b")).table
