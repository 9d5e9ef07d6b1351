"""What ``s3_store`` promises to a test that uses it."""

from __future__ import annotations

import pickle
from pathlib import Path

import boto3
import lance
import pyarrow as pa

from omnigraph_testing import S3Server, S3Store


def test_lance_writes_and_reads_there(s3_store: S3Store) -> None:
    """Lance takes the URI and the options as they are."""
    uri = s3_store.uri("people.lance")
    options = s3_store.storage_options
    lance.write_dataset(pa.table({"a": [1, 2]}), uri, storage_options=options)
    assert lance.dataset(uri, storage_options=options).count_rows() == 2


def test_obstore_and_boto3_see_one_store(s3_store: S3Store) -> None:
    """What obstore writes, boto3 reads, under the key that the store names."""
    s3_store.obstore("a b").put("ü.txt", b"hello")
    client = boto3.client("s3", **s3_store.client_kwargs)
    found = client.get_object(Bucket=s3_store.bucket, Key=s3_store.key("a b/ü.txt"))
    assert found["Body"].read() == b"hello"
    client.close()


def test_each_store_is_fresh(omnigraph_s3_server: S3Server) -> None:
    """Two stores of one server never see each other's objects."""
    one, other = omnigraph_s3_server.store(), omnigraph_s3_server.store()
    one.obstore().put("x", b"1")
    assert one.obstore().list().collect() != []
    assert other.obstore().list().collect() == []


def test_it_is_picklable_and_keeps_its_secret(s3_store: S3Store) -> None:
    """A spawned client can be handed the store; no repr shows the secret."""
    assert pickle.loads(pickle.dumps(s3_store)) == s3_store
    assert s3_store.secret_key not in repr(s3_store)
    assert s3_store.secret_key not in str(s3_store)


def test_the_server_is_one_process(omnigraph_s3_server: S3Server) -> None:
    """The pid is that of the running server."""
    assert Path(f"/proc/{omnigraph_s3_server.pid}").exists()
