"""What obstore and the operating system raise becomes the right error of ours, without secrets.

The texts are obstore's own; the tests of refs in S3 provoke the common ones for real.
"""

from __future__ import annotations

import errno
import os

import pytest
from obstore import exceptions as obstore_errors

from omnigraph_l1._places.failures import harmless, storage_failure
from omnigraph_l1.errors import AccessDenied, StorageError, StorageFull, StoreUnavailable

REPLIED = "Generic S3 error: Error performing PUT http://h/b/k in 1ms - Server returned non-2xx "
XML = '<?xml version="1.0"?>\n<Error><Code>{}</Code><Message>hunter2</Message></Error>'
GENERIC = obstore_errors.GenericError


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.EACCES, AccessDenied),
        (errno.EPERM, AccessDenied),
        (errno.EROFS, AccessDenied),
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.ESTALE, StoreUnavailable),
        (errno.ECONNREFUSED, StoreUnavailable),
        (errno.EIO, StorageError),
        (errno.ENOENT, StorageError),
    ],
)
def test_errors_of_the_operating_system(number: int, expected: type[StorageError]) -> None:
    """The number decides; the words and the file name are kept."""
    made = storage_failure(OSError(number, os.strerror(number), "/data/x"), "/data")
    assert type(made) is expected
    assert made.place == "/data"
    assert made.detail == f"{os.strerror(number)} (/data/x)"


@pytest.mark.parametrize(
    ("error", "expected", "says"),
    [
        (obstore_errors.PermissionDeniedError(REPLIED + "status code: 403"), AccessDenied, "403"),
        (obstore_errors.UnauthenticatedError("no login"), AccessDenied, "no login"),
        (GENERIC(REPLIED + "status code: 403 Forbidden"), AccessDenied, "403"),
        (GENERIC(REPLIED + "status code: 507 x: " + XML.format("Full")), StorageFull, "[Full]"),
        (
            GENERIC(REPLIED + "status code: 503 x: " + XML.format("SlowDown")),
            StoreUnavailable,
            "Sl",
        ),
        (GENERIC(REPLIED + "status code: 500 Internal"), StoreUnavailable, "500"),
        (GENERIC(REPLIED + "status code: 429 Too Many"), StoreUnavailable, "429"),
        (GENERIC("x - HTTP error: error sending\n\nkind: Connect"), StoreUnavailable, "sending"),
        (GENERIC("x - HTTP error: operation timed out"), StoreUnavailable, "timed out"),
        (GENERIC(REPLIED + "status code: 400 Bad: " + XML.format("Bad")), StorageError, "[Bad]"),
        (FileNotFoundError("404: " + XML.format("NoSuchBucket")), StorageError, "NoSuchBucket"),
        (ValueError(""), StorageError, "ValueError"),
    ],
    ids=lambda value: str(value)[-40:] if isinstance(value, Exception) else None,
)
def test_errors_of_obstore(error: Exception, expected: type[StorageError], says: str) -> None:
    """Class and text decide; one line is kept, and nothing of the body of a reply but its code."""
    made = storage_failure(error, "s3://b")
    assert type(made) is expected
    assert says in made.detail
    assert "\n" not in made.detail
    assert "hunter2" not in str(made)


def test_signatures_are_left_out() -> None:
    """The query of a URL, which may hold a signature, is in no error, nor in what is chained."""
    url = "https://h/b/k?X-Amz-Credential=a&X-Amz-Signature=hunter2"
    error = GENERIC(f"Error performing PUT {url} in 1ms - HTTP error: error sending request")
    made = storage_failure(error, "s3://b")
    assert "hunter2" not in str(made)
    assert "error sending request" in made.detail
    assert harmless(error) is None
    plain = GENERIC("Error performing PUT https://h/b/k in 1ms")
    assert harmless(plain) is plain
