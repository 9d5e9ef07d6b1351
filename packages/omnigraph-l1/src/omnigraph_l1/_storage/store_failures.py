"""Errors of obstore and of the operating system, translated into ``StorageError``.

Invariant: what comes out says what the store said in one line, without its debugging output,
without response bodies and without query strings, which may hold signatures. What it cannot place
is a plain ``StorageError``. Nothing is raised here: the caller raises, and knows whether "not
there" or "precondition failed" was to be expected.

Not here: what Lance raises; its texts are recognised where Lance is called.
"""

from __future__ import annotations

import errno
import re
from enum import Enum, auto
from functools import cache

from omnigraph_l1._storage.location import Location
from omnigraph_l1.errors import AccessDenied, StorageError, StorageFull, StoreUnavailable

__all__ = [
    "Failure",
    "errno_kind",
    "failure_kind",
    "harmless",
    "store_errors",
    "strip_body",
    "to_storage_error",
    "words",
]


class Failure(Enum):
    """What a failure of a store or of a file system means."""

    ABSENT = auto()
    NO_BUCKET = auto()
    EXISTS = auto()
    PRECONDITION = auto()
    UNSUPPORTED = auto()
    DENIED = auto()
    FULL = auto()
    UNREACHED = auto()
    """No connection was made: the request was not carried out."""
    UNAVAILABLE = auto()
    """It may have been carried out."""
    OTHER = auto()


_ERRNO = {
    errno.ENOENT: Failure.ABSENT,
    errno.ENOTDIR: Failure.ABSENT,
    errno.EEXIST: Failure.EXISTS,
    errno.EACCES: Failure.DENIED,
    errno.EPERM: Failure.DENIED,
    errno.EROFS: Failure.DENIED,
    errno.ENOSPC: Failure.FULL,
    errno.EDQUOT: Failure.FULL,
    errno.EFBIG: Failure.FULL,
    errno.ECONNREFUSED: Failure.UNREACHED,
    errno.EHOSTUNREACH: Failure.UNREACHED,
    errno.ENETUNREACH: Failure.UNREACHED,
    errno.ECONNRESET: Failure.UNAVAILABLE,
    errno.EHOSTDOWN: Failure.UNAVAILABLE,
    errno.ESTALE: Failure.UNAVAILABLE,
    errno.ETIMEDOUT: Failure.UNAVAILABLE,
}
# obstore's classes, by name, so that asking about an OSError does not load obstore.
_CLASSES = {
    "AlreadyExistsError": Failure.EXISTS,
    "FileNotFoundError": Failure.ABSENT,
    "NotFoundError": Failure.ABSENT,
    "NotSupportedError": Failure.UNSUPPORTED,
    "PermissionDeniedError": Failure.DENIED,
    "PreconditionError": Failure.PRECONDITION,
    "UnauthenticatedError": Failure.DENIED,
}
# The first that matches counts.
_TEXTS = (
    (Failure.NO_BUCKET, r"<Code>NoSuchBucket</Code>|ContainerNotFound|bucket does not exist"),
    (Failure.DENIED, r"status code: 40[13]\b"),
    (Failure.FULL, r"status code: 507\b|QuotaExceeded|StorageFull|No space left on device"),
    (Failure.UNAVAILABLE, r"status code: (408|429|5\d\d)\b"),
    (Failure.UNREACHED, r"kind: Connect\b|ConnectionRefused|dns error"),
    (
        Failure.UNAVAILABLE,
        r"HTTP error|kind: (Timeout|Request|Interrupted|Decode)\b|timed out",
    ),
)
_COMPILED = tuple((meaning, re.compile(text)) for meaning, text in _TEXTS)
_CODE = re.compile(r"<Code>(\w{1,80})</Code>")
_BODY = re.compile(r"<(\?xml|Error>|!DOCTYPE|html).*", re.DOTALL)
_URL_QUERY = re.compile(r"(https?://[^\s?]*)\?[^\s\"'>,)]*")
_QUERY = re.compile(r"\?[^\s\"'>,)]*")
_SECRET = re.compile(r"signature|credential|secret|token|[?&]sig=|accesskey", re.IGNORECASE)
_ERRORS = {
    Failure.DENIED: AccessDenied,
    Failure.FULL: StorageFull,
    Failure.UNREACHED: StoreUnavailable,
    Failure.UNAVAILABLE: StoreUnavailable,
}


def failure_kind(error: BaseException) -> Failure:
    """Return what an exception of obstore or of the operating system means."""
    if isinstance(error, OSError) and error.errno is not None:
        return errno_kind(error.errno)
    text = str(error)
    by_text = next((meaning for meaning, pattern in _COMPILED if pattern.search(text)), None)
    if by_text is Failure.NO_BUCKET:
        return by_text
    if isinstance(error, TimeoutError):
        return Failure.UNAVAILABLE
    return _CLASSES.get(type(error).__name__, by_text or Failure.OTHER)


@cache
def store_errors() -> tuple[type[Exception], ...]:
    """Return what calls of obstore raise, for an ``except`` clause."""
    from obstore.exceptions import BaseError  # noqa: PLC0415

    return BaseError, OSError, ValueError


def errno_kind(number: int) -> Failure:
    """Return what an error number of the operating system means."""
    return _ERRNO.get(number, Failure.OTHER)


def to_storage_error(error: BaseException, location: Location | str) -> StorageError:
    """Return the error of ours for an exception of obstore or of the operating system."""
    made = _ERRORS.get(failure_kind(error), StorageError)
    return made(location=str(location), detail=words(error))


def words(error: BaseException) -> str:
    """Return the error's text in one line, without what may be a secret."""
    if isinstance(error, OSError) and error.strerror:
        about = f" ({error.filename})" if isinstance(error.filename, str) else ""
        return error.strerror + about
    return _QUERY.sub("", strip_body(str(error)).split("\n", 1)[0]) or type(error).__name__


def strip_body(text: str) -> str:
    """Leave out the body of a reply, which may quote what was sent, and parameters of URLs."""
    code = _CODE.search(text)
    shown = _URL_QUERY.sub(r"\1", _BODY.sub("", text).rstrip(" :"))
    return f"{shown} [{code[1]}]" if code else shown


def harmless(error: BaseException) -> BaseException | None:
    """Return the exception for chaining, or None if its text may hold a secret."""
    return None if _SECRET.search(str(error)) else error
