"""What obstore and the operating system raise becomes the right error of ours, without secrets.

The texts are obstore's own; the tests of refs in S3 provoke the common ones for real.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from obstore import exceptions as obstore_errors

from omnigraph_l1 import JsonRefs, Storage, directory_lock, read_object
from omnigraph_l1.errors import AccessDenied, StorageError, StorageFull, StoreUnavailable

REPLIED = "Generic S3 error: Error performing PUT http://h/b/k in 1ms - Server returned non-2xx "
XML = '<?xml version="1.0"?>\n<Error><Code>{}</Code><Message>hunter2</Message></Error>'
GENERIC = obstore_errors.GenericError


def _raising(error: Exception) -> Any:
    def fail(*_: object) -> None:
        raise error

    return fail


def read_from_s3(monkeypatch: pytest.MonkeyPatch, error: Exception) -> StorageError:
    """Read a ref where obstore raises this error, and return what comes out."""
    store = SimpleNamespace(get=_raising(error))
    monkeypatch.setattr(Storage, "object_store", lambda _: store)
    with pytest.raises(StorageError) as raised:
        JsonRefs.open(Storage.resolve("s3://b", {"region": "r"}, environ={})).get("main")
    return raised.value


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
    ],
)
def test_errors_of_the_operating_system(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    expected: type[StorageError],
) -> None:
    """The number decides; the words and the file name are kept."""
    error = OSError(number, os.strerror(number), "/data/x")
    storage = Storage.resolve(tmp_path)
    monkeypatch.setattr(os, "open", _raising(error))
    with pytest.raises(StorageError) as raised:
        read_object(storage, "x")
    assert type(raised.value) is expected
    assert raised.value.location == str(tmp_path)
    assert raised.value.detail == f"{os.strerror(number)} (/data/x)"


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    """Where it is needed, its absence is a StorageError, too."""
    with (
        pytest.raises(StorageError, match="No such file") as raised,
        directory_lock(tmp_path / "x" / ".lock", patience=1),
    ):
        pass
    assert type(raised.value) is StorageError


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
def test_errors_of_obstore(
    monkeypatch: pytest.MonkeyPatch, error: Exception, expected: type[StorageError], says: str
) -> None:
    """Class and text decide; one line is kept, and nothing of the body of a reply but its code."""
    made = read_from_s3(monkeypatch, error)
    assert type(made) is expected
    assert says in made.detail
    assert "\n" not in made.detail
    assert "hunter2" not in str(made)


def test_signatures_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The query of a URL, which may hold a signature, is in no error, nor in what is chained."""
    url = "https://h/b/k?X-Amz-Credential=a&X-Amz-Signature=hunter2"
    error = GENERIC(f"Error performing PUT {url} in 1ms - HTTP error: error sending request")
    made = read_from_s3(monkeypatch, error)
    assert "hunter2" not in str(made)
    assert "error sending request" in made.detail
    assert made.__cause__ is None
    plain = GENERIC("Error performing PUT https://h/b/k in 1ms")
    assert read_from_s3(monkeypatch, plain).__cause__ is plain
