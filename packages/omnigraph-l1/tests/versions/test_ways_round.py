"""Silent ways round a version store: refused where they would write."""

from __future__ import annotations

import pickle

import boto3
import lance
import pytest
from undecided import SCHEMA, ids, rows

from omnigraph_l1 import Storage, Table
from omnigraph_l1.errors import InvalidRequest, L1Error, UnsafeStore, WrongVersionStore
from omnigraph_testing import FaultyS3, S3Server, S3Store

MARK = "omnigraph:version_store"
"""The entry in the config of a dataset whose versions DynamoDB decides."""


def test_without_the_store_one_may_read_only(base: Table, plain: Storage) -> None:
    """A plain place reads what is there, and does not write."""
    found = Table.open(plain)
    assert ids(found) == ["a", "b"]
    with pytest.raises(WrongVersionStore) as raised:
        found.append(rows("c"))
    assert raised.value.found is None
    base.fork("side.1", fresh=True)
    for write in (lambda: found.fork("other.1", fresh=True), lambda: found.delete_branch("side.1")):
        with pytest.raises(WrongVersionStore):
            write()
    assert Table.open(plain).version == base.version


def test_with_another_store_neither(
    base: Table, storage: Storage, omnigraph_dynamodb_server: S3Server
) -> None:
    """It has other versions: nothing is written by it."""
    client = boto3.client("dynamodb", **omnigraph_dynamodb_server.root.client_kwargs)
    model = client.describe_table(TableName=storage.location.dynamodb_table)["Table"]
    same = {key: model[key] for key in ("KeySchema", "AttributeDefinitions")}
    name = f"other-{storage.location.dynamodb_table}"
    client.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **same)
    uri = storage.location.uri.partition("?")[0] + f"?ddbTableName={name}"
    wrong = Storage.resolve(uri, storage.lance_options)
    with pytest.raises(L1Error):
        Table.open(wrong).append(rows("c"))
    Table.create(Storage.resolve(uri.replace("a table", "b"), storage.lance_options), SCHEMA)
    with pytest.raises(L1Error):
        Table.open(wrong).append(rows("c"))
    assert ids(base.refresh()) == ["a", "b"]


def test_a_table_that_needs_none_refuses_one(
    plain: Storage, storage: Storage, careless: FaultyS3
) -> None:
    """Its versions are decided by its location, in a store that honours conditions."""
    careless.clear()
    Table.create(plain, SCHEMA)
    with pytest.raises(L1Error):
        Table.open(storage).append(rows("a"))
    assert ids(Table.open(plain)) == []


def test_the_mark_is_not_restored_away(storage: Storage) -> None:
    """The first version has none: everyone could write then, but those who have the store."""
    table = Table.create(storage, SCHEMA).append(rows("a")).table
    with pytest.raises(InvalidRequest, match="restore version 2"):
        table.restore(1)
    restored = table.restore(2).table
    assert MARK in restored.config
    assert ids(restored.append(rows("b")).table) == ["b"]
    assert MARK in restored.refresh().overwrite(rows("c")).table.config


def test_a_copy_is_whole_without_the_store(
    base: Table, careless: FaultyS3, s3_store: S3Store
) -> None:
    """It is a table of its own: read, and written, like any other."""
    source, target = careless.obstore("a table"), s3_store.obstore("copy")
    for page in source.list():
        for entry in page:
            target.put(entry["path"], source.get(entry["path"]).bytes())
    copied = Storage.resolve(s3_store.uri("copy"), s3_store.storage_options)
    found = Table.open(copied)
    assert MARK in found.config
    assert found.version == base.version
    assert ids(found.append(rows("c")).table) == ["a", "b", "c"]
    assert ids(base.refresh()) == ["a", "b"]


def test_a_pickled_dataset_reads(base: Table) -> None:
    """The store is forgotten then: what it reads is pinned, and right."""
    dataset: lance.LanceDataset = pickle.loads(pickle.dumps(base.dataset))
    assert dataset.count_rows() == 2


def test_one_dynamodb_table_serves_one_bucket(
    omnigraph_dynamodb_table: object, careless: FaultyS3, s3_store: S3Store
) -> None:
    """Lance leaves the bucket out of the key: two of them would be taken for one."""
    more = omnigraph_dynamodb_table.storage_options  # type: ignore[attr-defined]
    name = omnigraph_dynamodb_table.name  # type: ignore[attr-defined]
    first = careless.uri("a").replace("s3://", "s3+ddb://") + f"?ddbTableName={name}"
    Table.create(Storage.resolve(first, {**careless.storage_options, **more}), SCHEMA)
    another = f"{s3_store.bucket}-2"
    boto3.client("s3", **s3_store.client_kwargs).create_bucket(Bucket=another)
    other = f"s3+ddb://{another}/{s3_store.key('a')}?ddbTableName={name}"
    with pytest.raises(UnsafeStore, match="table for each bucket"):
        Table.create(Storage.resolve(other, {**s3_store.storage_options, **more}), SCHEMA)
