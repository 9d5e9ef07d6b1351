"""What no rule meets passes the gateway byte for byte."""

from __future__ import annotations

import http.client
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import attrs
import boto3
import lance
import pyarrow as pa
import pytest
from obstore.exceptions import PermissionDeniedError

from omnigraph_testing import FaultyS3, S3Server, S3Store, ServerKind
from omnigraph_testing._servers.sigv4 import signed_request

BIG = bytes(range(256)) * 4096 * 7  # 7 MiB: more than one part, and more than any buffer


@pytest.fixture
def seaweedfs(omnigraph_s3_server: S3Server) -> None:
    """Skip where moto was chosen: it checks no signatures, and ends each connection."""
    if omnigraph_s3_server.kind is not ServerKind.SEAWEEDFS:
        pytest.skip("moto checks no signatures and keeps no connection")


def test_lance_works_through_it(faulty_s3: FaultyS3) -> None:
    """Lance writes, appends and reads through the gateway, and the requests are on record."""
    uri, options = faulty_s3.uri("people.lance"), faulty_s3.storage_options
    lance.write_dataset(pa.table({"a": [1, 2]}), uri, storage_options=options)
    lance.write_dataset(pa.table({"a": [3]}), uri, storage_options=options, mode="append")
    assert lance.dataset(uri, storage_options=options).to_table()["a"].to_pylist() == [1, 2, 3]
    methods = {each.method for each in faulty_s3.requests}
    assert {"LIST", "PUT", "GET"} <= methods
    assert all(each.key.startswith("people.lance") for each in faulty_s3.requests)


@pytest.mark.parametrize("size", [0, 1, 70_000, len(BIG)])
def test_bodies_of_any_size_pass(faulty_s3: FaultyS3, size: int) -> None:
    """What was put is what is got, from the gateway and from the store behind it."""
    body = BIG[:size]
    faulty_s3.obstore().put("x.bin", body)
    assert bytes(faulty_s3.obstore().get("x.bin").bytes()) == body
    assert bytes(faulty_s3.direct.obstore().get("x.bin").bytes()) == body
    put = next(each for each in faulty_s3.requests if each.method in ("PUT", "CREATE_MULTIPART"))
    assert put.status == 200


def test_ranges_pass(faulty_s3: FaultyS3) -> None:
    """A ranged GET gives that range, and only it passes."""
    store = faulty_s3.obstore()
    faulty_s3.direct.obstore().put("x.bin", BIG)
    assert bytes(store.get_range("x.bin", start=1000, length=77)) == BIG[1000:1077]
    (got,) = faulty_s3.requests
    assert (got.status, got.bytes_out) == (206, 77)


def test_heads_pass(faulty_s3: FaultyS3) -> None:
    """A HEAD announces a length without a body, and the connection goes on."""
    store = faulty_s3.obstore()
    store.put("x.bin", BIG[:5000])
    assert store.head("x.bin")["size"] == 5000
    assert bytes(store.get("x.bin").bytes()) == BIG[:5000]


@pytest.mark.parametrize("name", ["a b", "ü/人", "100%", "a%2Fb", "x+y&z=1", "a~b'(c)!*", "q?x#y"])
def test_keys_pass_as_they_are(faulty_s3: FaultyS3, name: str) -> None:
    """Spaces, other scripts, percent signs and encoded slashes stay what they are."""
    client = boto3.client("s3", **faulty_s3.client_kwargs)
    client.put_object(Bucket=faulty_s3.bucket, Key=faulty_s3.key(name), Body=b"here")
    client.close()
    direct = boto3.client("s3", **faulty_s3.direct.client_kwargs)
    listed = direct.list_objects_v2(Bucket=faulty_s3.bucket, Prefix=faulty_s3.key())["Contents"]
    direct.close()
    assert [each["Key"] for each in listed] == [faulty_s3.key(name)]
    assert [each.key for each in faulty_s3.requests] == [name]


def test_multipart_uploads_pass(faulty_s3: FaultyS3) -> None:
    """The parts arrive in their order, and the log tells the steps of the upload."""
    faulty_s3.obstore().put("x.bin", BIG, use_multipart=True, chunk_size=5 << 20)
    assert bytes(faulty_s3.direct.obstore().get("x.bin").bytes()) == BIG
    methods = [each.method for each in faulty_s3.requests]
    assert sorted(methods) == ["COMPLETE_MULTIPART", "CREATE_MULTIPART", "PUT_PART", "PUT_PART"]
    parts = [each for each in faulty_s3.requests if each.method == "PUT_PART"]
    assert sum(each.bytes_in for each in parts) == len(BIG)


def test_an_aborted_multipart_upload_and_copies_and_deletions_are_told_apart(
    faulty_s3: FaultyS3,
) -> None:
    """The log names what a request means in S3, not only its verb."""
    client = boto3.client("s3", **faulty_s3.client_kwargs)
    here = {"Bucket": faulty_s3.bucket, "Key": faulty_s3.key("x")}
    upload = client.create_multipart_upload(**here)["UploadId"]
    client.abort_multipart_upload(**here, UploadId=upload)
    client.put_object(**here, Body=b"1")
    client.copy_object(Bucket=here["Bucket"], Key=here["Key"] + "2", CopySource=here)
    client.delete_objects(Bucket=here["Bucket"], Delete={"Objects": [{"Key": here["Key"]}]})
    client.delete_object(Bucket=here["Bucket"], Key=here["Key"] + "2")
    client.head_bucket(Bucket=here["Bucket"])
    client.close()
    assert [f"{each.method} {each.key}".strip() for each in faulty_s3.requests] == [
        "CREATE_MULTIPART x",
        "ABORT_MULTIPART x",
        "PUT x",
        "COPY x2",
        "DELETE_MANY",
        "DELETE x2",
        "BUCKET",
    ]


def test_listings_carry_their_prefix(faulty_s3: FaultyS3) -> None:
    """The key of a LIST is the prefix that was asked for."""
    faulty_s3.direct.obstore().put("a/b/c", b"1")
    assert [each["path"] for each in faulty_s3.obstore("a").list().collect()] == ["b/c"]
    (listed,) = faulty_s3.requests
    assert (listed.method, listed.key) == ("LIST", "a/")


@pytest.mark.usefixtures("seaweedfs")
def test_signatures_are_checked_by_the_store(faulty_s3: FaultyS3) -> None:
    """The gateway lends nobody its keys: a wrong secret is refused by the store behind it."""
    wrong = attrs.evolve(faulty_s3.store, secret_key="wrong")
    with pytest.raises(PermissionDeniedError):
        wrong.obstore().put("x", b"1")
    assert faulty_s3.requests[0].status == 403
    assert faulty_s3.requests[0].store_status == 403


@pytest.mark.usefixtures("seaweedfs")
def test_a_host_that_was_not_signed_for_is_refused(faulty_s3: FaultyS3) -> None:
    """The Host header passes unchanged: signed for the gateway's name, it is valid at the store."""
    ours, theirs = urlsplit(faulty_s3.endpoint).netloc, urlsplit(faulty_s3.direct.endpoint).netloc
    assert ours != theirs
    assert signed_request(faulty_s3.store, "PUT", faulty_s3.key("x"), body=b"1")[0] == 200
    misled = attrs.evolve(faulty_s3.direct, endpoint=faulty_s3.endpoint.replace("127.0.0.1", "lo"))
    connection = http.client.HTTPConnection(ours)
    connection.request("PUT", f"/{misled.bucket}/{misled.key('y')}", b"1", {"Host": theirs})
    assert connection.getresponse().status == 403
    connection.close()


def raw(store: FaultyS3, data: bytes) -> bytes:
    """Send bytes on a fresh connection, and return what comes until it is closed."""
    address = urlsplit(store.endpoint)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=10) as sock:
        sock.sendall(data)
        return b"".join(iter(lambda: sock.recv(65536), b""))


@pytest.mark.usefixtures("seaweedfs")
def test_connections_are_kept_alive_and_the_log_says_which(faulty_s3: FaultyS3) -> None:
    """Several requests of one connection are served on it, one after another."""
    head = f"GET /{faulty_s3.bucket}/x HTTP/1.1\r\nHost: {urlsplit(faulty_s3.endpoint).netloc}\r\n"
    got = raw(faulty_s3, f"{head}\r\n{head}Connection: close\r\n\r\n".encode())
    assert got.count(b"HTTP/1.1 ") == 2
    assert {each.connection for each in faulty_s3.requests} == {1}


def test_what_is_no_http_is_cut_off(faulty_s3: FaultyS3) -> None:
    """A client that talks nonsense loses its connection; the gateway goes on."""
    with pytest.raises(ConnectionResetError):
        raw(faulty_s3, b"nonsense\r\n\r\n")
    assert faulty_s3.obstore().list().collect() == []


def test_a_client_that_waits_for_continue_is_told_to(faulty_s3: FaultyS3) -> None:
    """It gets its 100 before it has sent a byte of the body, and the store's answer after it."""
    client = boto3.client("s3", **faulty_s3.client_kwargs)
    url = urlsplit(
        client.generate_presigned_url(
            "put_object", Params={"Bucket": faulty_s3.bucket, "Key": faulty_s3.key("x")}
        )
    )
    client.close()
    head = (
        f"PUT {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\n"
        "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"
    )
    with socket.create_connection((url.hostname or "", url.port or 0), timeout=10) as sock:
        sock.sendall(head.encode())
        assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"hello")
        assert sock.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
    assert bytes(faulty_s3.direct.obstore().get("x").bytes()) == b"hello"


def test_boto3_waits_for_continue_and_puts_large_bodies(faulty_s3: FaultyS3) -> None:
    """The client that is known for "Expect: 100-continue" gets along with the gateway."""
    client = boto3.client("s3", **faulty_s3.client_kwargs)
    seen: list[str] = []
    client.meta.events.register(
        "before-send.s3.PutObject",
        lambda request, **_: seen.append(str(request.headers.get("Expect"))),
    )
    client.put_object(Bucket=faulty_s3.bucket, Key=faulty_s3.key("x"), Body=BIG)
    client.close()
    assert "100-continue" in seen[0]
    assert bytes(faulty_s3.direct.obstore().get("x").bytes()) == BIG


def test_chunked_bodies_pass(faulty_s3: FaultyS3) -> None:
    """A body that is sent in chunks, its length unknown, arrives whole."""
    direct: S3Store = faulty_s3.direct
    client = boto3.client("s3", **faulty_s3.client_kwargs)
    url = client.generate_presigned_url(
        "put_object", Params={"Bucket": faulty_s3.bucket, "Key": faulty_s3.key("x")}
    )
    client.close()
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    target = url.partition(urlsplit(url).netloc)[2]
    pieces = [BIG[:10], BIG[10:300_000], BIG[300_000:900_000]]
    connection.request("PUT", target, iter(pieces), encode_chunked=True)
    assert connection.getresponse().status == 200
    connection.close()
    assert bytes(direct.obstore().get("x").bytes()) == BIG[:900_000]
    assert faulty_s3.requests[0].bytes_in > 900_000  # chunk sizes are on the wire, too


def test_many_clients_at_once(faulty_s3: FaultyS3) -> None:
    """Requests of many connections do not mix."""
    store = faulty_s3.obstore()

    def roundtrip(number: int) -> bool:
        store.put(f"x{number}", str(number).encode() * 1000)
        return bytes(store.get(f"x{number}").bytes()) == str(number).encode() * 1000

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(roundtrip, range(100)))
    assert len(faulty_s3.requests) == 200
