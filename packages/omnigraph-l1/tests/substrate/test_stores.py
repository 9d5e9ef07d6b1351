"""What the stores and obstore do: conditional puts, and signed requests through a gateway."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import obstore.store
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from omnigraph_testing import FaultyS3, S3Server, S3Store, ServerUnavailable, start_s3

from ._support import failure

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def moto() -> Iterator[S3Server]:
    """Moto's server, which speaks S3 as well."""
    try:
        context = start_s3("moto")
        server = context.__enter__()
    except ServerUnavailable as exc:
        pytest.skip(str(exc))
    yield server
    context.__exit__(None, None, None)


@pytest.fixture(params=["weed", "moto"])
def store(request: pytest.FixtureRequest) -> S3Store:
    """A fresh prefix on each of the two servers."""
    if request.param == "weed":
        found: S3Store = request.getfixturevalue("s3_store")
        return found
    server: S3Server = request.getfixturevalue("moto")
    return server.store()


def test_servers_honour_if_none_match_and_if_match(store: S3Store) -> None:
    """Weed and moto honour If-None-Match: * and If-Match: 412 PreconditionFailed."""
    client = boto3.client("s3", **store.client_kwargs)
    where = {"Bucket": store.bucket, "Key": store.key("o")}
    tag = client.put_object(**where, Body=b"1", IfNoneMatch="*")["ETag"]
    client.put_object(**where, Body=b"2", IfMatch=tag)
    for condition in ({"IfNoneMatch": "*"}, {"IfMatch": tag}):
        with pytest.raises(ClientError) as caught:
            client.put_object(**where, Body=b"3", **condition)
        assert caught.value.response["Error"]["Code"] == "PreconditionFailed"
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412
    assert client.get_object(**where)["Body"].read() == b"2"
    client.close()


def test_one_of_many_creators_wins(store: S3Store) -> None:
    """Of eight simultaneous creations of one object, one succeeds."""
    objects = store.obstore()

    def create(number: int) -> bool:
        try:
            objects.put("o", str(number).encode(), mode="create")
        except obstore.exceptions.AlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(8)))
    assert won.count(True) == 1
    assert bytes(objects.get("o").bytes()) == str(won.index(True)).encode()


def test_obstore_create_and_compare_and_swap(store: S3Store) -> None:
    """obstore: put(mode="create") raises AlreadyExistsError; put(mode={"e_tag": …}) is a
    compare-and-swap on S3, a stale tag a PreconditionError.
    """
    objects = store.obstore()
    tag = objects.put("o", b"1", mode="create")["e_tag"]
    failure(lambda: objects.put("o", b"2", mode="create")).require(
        "AlreadyExistsError", f"Object at location {store.key('o')} already exists: "
    )
    objects.put("o", b"3", mode={"e_tag": tag})
    failure(lambda: objects.put("o", b"4", mode={"e_tag": tag})).require(
        "PreconditionError", f"Request precondition failure for path {store.key('o')}: "
    )
    assert bytes(objects.get("o").bytes()) == b"3"


def test_obstore_swap_of_what_is_gone(store: S3Store) -> None:
    """A compare-and-swap of an object that is gone fails on both, and creates nothing; on moto it
    is NotFoundError-like, on weed a PreconditionError.
    """
    objects = store.obstore()
    tag = objects.put("o", b"1")["e_tag"]
    objects.delete("o")
    failed = failure(lambda: objects.put("o", b"2", mode={"e_tag": tag}))
    assert failed.type in {"PreconditionError", "FileNotFoundError"}
    failure(lambda: objects.get("o")).require("FileNotFoundError", "Object at location ")


def test_obstore_deletes_what_is_not_there(store: S3Store) -> None:
    """Deleting an object that is not there is no error."""
    store.obstore().delete("nothing")


def test_the_local_store_creates_but_does_not_swap(tmp_path: Path) -> None:
    """… and is *not supported* by its local store: put with an e_tag is a NotImplementedError;
    put(mode="create") works there.
    """
    objects = obstore.store.LocalStore(str(tmp_path))
    tag = objects.put("o", b"1", mode="create")["e_tag"]
    failure(lambda: objects.put("o", b"2", mode="create")).require(
        "AlreadyExistsError", f"Object at location {tmp_path}/o already exists: "
    )
    failure(lambda: objects.put("o", b"3", mode={"e_tag": tag})).require(
        "NotImplementedError",
        "Operation `put_opts` with mode `PutMode::Update` not yet implemented",
    )
    assert (tmp_path / "o").read_bytes() == b"1"


def test_the_memory_store_does_both() -> None:
    """The memory store creates and swaps as S3 does."""
    objects = obstore.store.MemoryStore()
    tag = objects.put("o", b"1", mode="create")["e_tag"]
    assert failure(lambda: objects.put("o", b"2", mode="create")).type == "AlreadyExistsError"
    objects.put("o", b"3", mode={"e_tag": tag})
    failed = failure(lambda: objects.put("o", b"4", mode={"e_tag": tag}))
    assert failed.type == "PreconditionError"


def test_signed_requests_pass_a_gateway_that_keeps_the_host(faulty_s3: FaultyS3) -> None:
    """Signed requests pass through an HTTP gateway as long as the Host header is kept …"""
    faulty_s3.obstore().put("o", b"1")
    assert [request.status for request in faulty_s3.requests] == [200]


def test_signed_requests_fail_with_another_host(s3_store: S3Store) -> None:
    """… and are refused (SignatureDoesNotMatch) where it is not."""
    version_4 = Config(signature_version="s3v4")
    client = boto3.client("s3", config=version_4, **s3_store.client_kwargs)
    where = {"Bucket": s3_store.bucket, "Key": s3_store.key("o")}
    signed = urlsplit(client.generate_presigned_url("put_object", Params=where))
    client.close()
    answers = []
    for host in (signed.netloc, f"localhost:{signed.port}"):
        connection = http.client.HTTPConnection(signed.netloc)
        target = f"{signed.path}?{signed.query}"
        connection.request("PUT", target, body=b"1", headers={"Host": host})
        answer = connection.getresponse()
        answers.append((answer.status, b"SignatureDoesNotMatch" in answer.read()))
        connection.close()
    assert answers == [(200, False), (403, True)]
