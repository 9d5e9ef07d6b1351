"""Places in a real S3 server that ignores conditions, whose versions DynamoDB decides."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from omnigraph_l1 import Storage, Table
from omnigraph_testing import DynamoTable, FaultyS3, IgnoreConditions, Rule

sys.path.insert(0, str(Path(__file__).parent))

from undecided import SCHEMA, rows


@pytest.fixture
def careless(faulty_s3: FaultyS3) -> FaultyS3:
    """An S3 server that carries out every PUT, whatever its conditions say."""
    faulty_s3.inject(Rule(IgnoreConditions()))
    return faulty_s3


@pytest.fixture
def storage(careless: FaultyS3, omnigraph_dynamodb_table: DynamoTable) -> Storage:
    """A location there, whose versions DynamoDB decides."""
    uri = careless.uri("a table").replace("s3://", "s3+ddb://")
    options = {**careless.storage_options, **omnigraph_dynamodb_table.storage_options}
    return Storage.resolve(f"{uri}?ddbTableName={omnigraph_dynamodb_table.name}", options)


@pytest.fixture
def plain(careless: FaultyS3) -> Storage:
    """The same location, for a client that does not use the version store."""
    return Storage.resolve(careless.uri("a table"), careless.storage_options)


@pytest.fixture
def base(storage: Storage) -> Table:
    """Rows in two versions."""
    return Table.create(storage, SCHEMA).append(rows("a", "b")).table
