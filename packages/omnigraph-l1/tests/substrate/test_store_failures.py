"""An S3 store that cannot be used: the texts, and what is found although it is remote."""

from __future__ import annotations

import socket
from collections.abc import Callable

import lance
import pytest

from omnigraph_testing import S3Store

from ._support import create, failure, manifest_name, people

LISTING = "LanceError(IO): Generic S3 error: Error performing list request: "


def _nobody_listens() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}"


FAILURES: dict[str, tuple[Callable[[], dict[str, str]], str]] = {
    "wrong secret": (
        lambda: {"aws_secret_access_key": "wrong"},
        "403 Forbidden: ",
    ),
    "connection refused": (
        lambda: {"aws_endpoint": _nobody_listens(), "client_max_retries": "0"},
        "HTTP error: error sending request",
    ),
    "plain http not allowed": (
        lambda: {"allow_http": "false"},
        "HTTP error: builder error",
    ),
}


@pytest.mark.parametrize("what", FAILURES)
def test_a_store_that_cannot_be_used(what: str, s3_store: S3Store) -> None:
    """A wrong key, a refused connection, http where it is not allowed: "LanceError(IO): Generic S3
    error: Error performing list request: …", a ValueError from open; the secret is not in it.
    Lance tries each listing for two seconds.
    """
    change, part = FAILURES[what]
    options = {**s3_store.storage_options, **change()}
    failed = failure(lambda: lance.dataset(s3_store.uri("t"), storage_options=options))
    failed.require("ValueError", LISTING, contains=[part])
    assert s3_store.secret_key not in failed.text


def test_a_bucket_that_is_not_there(s3_store: S3Store) -> None:
    """A missing bucket: the same, with 404 and <Code>NoSuchBucket; from a write, an OSError."""
    options = s3_store.storage_options
    failure(
        lambda: lance.write_dataset(people("a"), "s3://no-such-bucket/t", storage_options=options)
    ).require("OSError", LISTING, contains=["404 Not Found: ", "<Code>NoSuchBucket</Code>"])


def test_opening_at_a_version_is_refused_without_a_listing(s3_store: S3Store) -> None:
    """Opening at a version asks with HEAD: a wrong secret is refused at once, with another text:
    "LanceError(IO): The operation lacked the necessary privileges to complete for path …".
    """
    create(s3_store.uri("t"), "a", options=s3_store.storage_options)
    options = {**s3_store.storage_options, "aws_secret_access_key": "wrong"}
    failed = failure(lambda: lance.dataset(s3_store.uri("t"), version=1, storage_options=options))
    failed.require(
        "ValueError",
        "LanceError(IO): The operation lacked the necessary privileges to complete for path ",
        contains=["403 Forbidden"],
    )


def test_what_is_not_there_is_told_as_on_disk(s3_store: S3Store) -> None:
    """Dataset, version and branch that are not there have the texts of the local disk, with keys
    for paths; the version's goes on with the request that failed.
    """
    options = s3_store.storage_options
    made = create(s3_store.uri("t"), "a", options=options)
    key = s3_store.key("t")
    failure(lambda: lance.dataset(s3_store.uri("u"), storage_options=options)).require(
        "ValueError", f"Dataset at path {s3_store.key('u')} was not found: Not found: "
    )
    failure(lambda: lance.dataset(made.uri, version=9, storage_options=options)).require(
        "ValueError",
        f"Dataset at path {key}/_versions/9.manifest was not found: Error performing HEAD ",
        contains=["404 Not Found"],
    )
    failure(lambda: made.checkout_version(("x", None))).require(
        "ValueError", f"Not found: {key}/tree/x/_versions"
    )


def test_a_torn_version_is_met_on_s3_too(s3_store: S3Store) -> None:
    """An empty or zero-filled newest version on S3 does what it does on disk."""
    options = s3_store.storage_options
    create(s3_store.uri("t"), "a", options=options)
    objects = s3_store.obstore("t")
    objects.put(f"_versions/{manifest_name(2)}", b"")
    failure(lambda: lance.dataset(s3_store.uri("t"), storage_options=options)).require(
        "ValueError",
        "LanceError(IO): Generic memory error: Invalid range 0..0 for object of size 0 bytes",
    )
    objects.put(f"_versions/{manifest_name(2)}", bytes(500))
    assert lance.dataset(s3_store.uri("t"), storage_options=options).version == 0


def test_a_branch_on_s3_names_its_root_absolutely(s3_store: S3Store) -> None:
    """A branch on S3 carries s3://bucket/key of its root: it does not survive a copy either."""
    made = create(s3_store.uri("t"), "a", options=s3_store.storage_options)
    branch = made.create_branch("x")
    assert [base.path for base in branch.base_paths().values()] == [s3_store.uri("t")]


def test_a_tag_beyond_ascii_breaks_the_listing_on_s3_too(s3_store: S3Store) -> None:
    """The listing of tags breaks on S3 as on disk."""
    made = create(s3_store.uri("t"), "a", options=s3_store.storage_options)
    made.tags.create("ä", 1)
    failure(made.tags.list).require("ValueError", "Not found: ", contains=["%25C3%25A4.json"])
