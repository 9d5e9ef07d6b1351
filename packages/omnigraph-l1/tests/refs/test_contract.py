"""Refs in memory, on local disk and on a real S3 server fulfil the contract of ref stores."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from omnigraph_l1 import JsonRefs, RefStore, Storage
from omnigraph_testing import DynamoTable, S3Store
from omnigraph_testing.contracts.refs import RefStoreContract


class TestMemory(RefStoreContract):
    """In memory."""

    @pytest.fixture
    def refs(self) -> RefStore:
        """Return an empty store."""
        return JsonRefs.in_memory()


class TestLocal(RefStoreContract):
    """On local disk, flushed."""

    @pytest.fixture
    def refs(self, tmp_path: Path) -> RefStore:
        """Return an empty directory, deep down, with a name that needs care."""
        return JsonRefs.open(tmp_path / "re po%20", "_refs/branches")

    @pytest.fixture
    def other(self, refs: RefStore) -> RefStore:
        """Return a handle as another process would have it."""
        other: RefStore = pickle.loads(pickle.dumps(refs))
        return other


class TestLocalUnflushed(RefStoreContract):
    """On local disk, for throw-away data."""

    @pytest.fixture
    def refs(self, tmp_path: Path) -> RefStore:
        """Return an empty directory."""
        return JsonRefs.open(tmp_path, durability="none")


class TestS3(RefStoreContract):
    """On a real S3 server."""

    examples = 8
    racers = 3  # more, and SeaweedFS makes them wait whole seconds for its own lock
    rounds = 5

    @pytest.fixture
    def refs(self, s3_store: S3Store) -> RefStore:
        """Return an empty prefix, deep down, with a name that needs care."""
        storage = Storage.resolve(s3_store.uri("re po%25"), s3_store.storage_options)
        return JsonRefs.open(storage, "_refs/branches")

    @pytest.fixture
    def other(self, refs: RefStore) -> RefStore:
        """Return a handle as another process would have it."""
        other: RefStore = pickle.loads(pickle.dumps(refs))
        return other


class TestDynamo(RefStoreContract):
    """In the DynamoDB table of a location."""

    examples = 8
    racers = 3
    rounds = 5

    @pytest.fixture
    def refs(self, omnigraph_dynamodb_table: DynamoTable, s3_store: S3Store) -> RefStore:
        """Return an empty table."""
        uri = s3_store.uri("a b").replace("s3://", "s3+ddb://")
        options = {**s3_store.storage_options, **omnigraph_dynamodb_table.storage_options}
        where = Storage.resolve(f"{uri}?ddbTableName={omnigraph_dynamodb_table.name}", options)
        return JsonRefs.open(where, "_refs/branches")

    @pytest.fixture
    def other(self, refs: RefStore) -> RefStore:
        """Return a handle as another process would have it."""
        other: RefStore = pickle.loads(pickle.dumps(refs))
        return other


class TestS3NamesNotReused(TestS3):
    """On a real S3 server, with deleted refs erased at once."""

    examples = 4

    @pytest.fixture
    def refs(self, s3_store: S3Store) -> RefStore:
        """Return an empty prefix."""
        storage = Storage.resolve(s3_store.uri(), s3_store.storage_options)
        return JsonRefs.open(storage, "_refs/leases", reuse_names=False)
