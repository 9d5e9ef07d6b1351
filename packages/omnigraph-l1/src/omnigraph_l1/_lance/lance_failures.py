"""Errors of Lance, recognised by their texts and translated into ours.

Invariant: the texts stand here and nowhere else, each pinned by a test that provokes it for real;
there is no other way, because most failures arrive as plain OSError or ValueError.
What is not recognised becomes a ``StorageError`` that carries Lance's words.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum, auto
from typing import Final

import lance.commit
import pyarrow as pa

from omnigraph_l1._lance.private_hooks import is_rust_panic
from omnigraph_l1._storage.location import Location
from omnigraph_l1._storage.store_failures import harmless, strip_body
from omnigraph_l1._transaction_kinds import Resolution, TransactionKind
from omnigraph_l1.errors import (
    AccessDenied,
    CorruptDataset,
    DataProblem,
    InvalidData,
    InvalidRequest,
    L1Error,
    MixedVersionNames,
    StorageError,
    StorageFull,
    StoreUnavailable,
)

__all__ = [
    "LanceFailure",
    "Symptom",
    "classify",
    "is_store_failure",
    "parse_conflict",
    "recognize_failures",
    "symptom",
    "translate_errors",
    "words",
]

# Every kind of exception in which pylance has been seen to report a failure, panics apart.
_LANCE_RAISES = (
    OSError,
    ValueError,
    KeyError,
    RuntimeError,
    NotImplementedError,
    pa.lib.ArrowException,
)


class Symptom(Enum):
    """What a failure of Lance means."""

    CONFLICT_RETRYABLE = auto()
    CONFLICT_INCOMPATIBLE = auto()
    COMMIT_UNKNOWN = auto()
    """Lance itself could not find out. Its text quotes why, which says nothing of the commit."""
    HALF_MADE_BRANCH = auto()
    DATASET_EXISTS = auto()
    REF_EXISTS = auto()
    REF_MISSING = auto()
    VERSION_TAGGED = auto()
    MIXED_NAMES = auto()
    DENIED = auto()
    FULL = auto()
    EXHAUSTED = auto()
    """The process or the machine has no more of something, such as open files."""
    TORN = auto()
    DATASET_MISSING = auto()
    VERSION_MISSING = auto()
    MISSING = auto()
    NULLS = auto()
    MISFIT = auto()
    BAD_REQUEST = auto()
    UNREACHABLE = auto()


# The first that matches counts, so what is more telling comes first. What the operating system
# says is known by its number, "(os error 13)", before any of these.
_TEXTS: tuple[tuple[Symptom, str], ...] = (
    (Symptom.CONFLICT_INCOMPATIBLE, r"^Incompatible transaction:"),
    (Symptom.CONFLICT_RETRYABLE, r"^Retryable commit conflict"),
    (Symptom.CONFLICT_RETRYABLE, r"^Too many concurrent writers"),
    (Symptom.CONFLICT_RETRYABLE, r"^Commit conflict for version"),
    (Symptom.COMMIT_UNKNOWN, r"Commit result for version \d+ is unknown"),
    (Symptom.HALF_MADE_BRANCH, r"Clone operation should not enter build_manifest"),
    (Symptom.DATASET_EXISTS, r"^Dataset already exists"),
    (Symptom.REF_EXISTS, r"^Ref conflict error:"),
    (Symptom.REF_MISSING, r"^Ref not found error:"),
    (Symptom.VERSION_MISSING, r"^Version not found error:"),
    (Symptom.VERSION_TAGGED, r"tagged version\(s\) have been marked for cleanup"),
    (Symptom.MIXED_NAMES, r"Found multiple manifest naming schemes"),
    (Symptom.DENIED, r"403 Forbidden"),
    (Symptom.DENIED, r"401 Unauthorized"),
    (Symptom.DENIED, r"<Code>ExpiredToken</Code>"),
    (Symptom.TORN, r"Generic memory error: Invalid range"),
    (Symptom.TORN, r"Requested range was invalid"),
    (Symptom.TORN, r"Range started at 0 and ended at 0"),
    (Symptom.TORN, r"Dataset version 0 does not have a transaction file"),
    (Symptom.TORN, r"resolved a manifest belonging to branch"),
    (Symptom.TORN, r"does not appear to be a Lance file"),
    (Symptom.TORN, r"range end index \d+ out of range"),
    (Symptom.TORN, r"does not have sufficient data, len:"),
    (Symptom.TORN, r"encountered corrupt file"),
    (Symptom.TORN, r"file size is too small"),
    (Symptom.TORN, r"Namespace error: .* was reserved, and its staged file"),
    (Symptom.TORN, r"Namespace error: .* the record of version \d+ in .* is damaged"),
    (Symptom.TORN, r"failed to decode Protobuf"),
    (Symptom.TORN, r"^LanceError\(Arrow\): .* at line \d+ column \d+"),
    (Symptom.VERSION_MISSING, r"_versions/\d+\.manifest was not found"),
    (Symptom.VERSION_MISSING, r"^Not found: \S*_versions/\d+\.manifest"),
    (Symptom.DATASET_MISSING, r"^Dataset at path .* was not found"),
    (Symptom.DATASET_MISSING, r"<Code>NoSuchBucket</Code>"),
    (Symptom.MISSING, r"Not found:"),
    (Symptom.NULLS, r"contained null values even though the field is marked non-null"),
    (Symptom.NULLS, r"is declared as non-nullable but contains null values"),
    (Symptom.MISFIT, r"^Append with different schema"),
    (Symptom.MISFIT, r"Ambiguous merge inserts are prohibited"),
    (Symptom.MISFIT, r"Duplicate field name"),
    (Symptom.BAD_REQUEST, r"Invalid user input:"),
    (Symptom.BAD_REQUEST, r"Query Execution error:"),
    (Symptom.UNREACHABLE, r"error sending request"),
    (Symptom.UNREACHABLE, r"Namespace error: Service unavailable"),
    (Symptom.UNREACHABLE, r"request or response body error"),
    (Symptom.UNREACHABLE, r"status code: 5\d\d"),
    (Symptom.UNREACHABLE, r"status code: 429"),
)
_COMPILED = tuple((meaning, re.compile(text, re.IGNORECASE)) for meaning, text in _TEXTS)
_NOISE = re.compile(
    r"^Invalid user input: |(, )?(location: )?(/home/runner|/rustc|/root)/\S+:\d+:\d+,?"
)
_CONFLICT = re.compile(
    r"(?:This )?\b(\w+) (?:transaction|target) .*concurrent (?:transaction )?(\w+) at version (\d+)"
)
_KINDS = {kind.value: kind for kind in TransactionKind}
_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_ERRNO = {
    errno.EACCES: Symptom.DENIED,
    errno.EPERM: Symptom.DENIED,
    errno.EROFS: Symptom.DENIED,
    errno.ENOSPC: Symptom.FULL,
    errno.EDQUOT: Symptom.FULL,
    errno.EMFILE: Symptom.EXHAUSTED,
    errno.ENFILE: Symptom.EXHAUSTED,
    errno.ENOMEM: Symptom.EXHAUSTED,
    errno.EIO: Symptom.EXHAUSTED,
    errno.ETIMEDOUT: Symptom.UNREACHABLE,
}


def symptom(error: BaseException) -> Symptom | None:
    """Recognise a failure of Lance; None if its text says nothing that we know."""
    text = str(error)
    numbers = [int(number) for number in _OS_ERROR.findall(text)]
    if isinstance(error, OSError) and error.errno is not None:
        numbers.append(error.errno)
    for number in numbers:
        if number in _ERRNO:
            return _ERRNO[number]
    for meaning, pattern in _COMPILED:
        if pattern.search(text):
            return meaning
    return None


def classify(error: BaseException) -> Resolution | None:
    """Return what helps against a commit conflict; None if the failure is no conflict."""
    if isinstance(error, lance.commit.CommitConflictError):
        return Resolution.RETRYABLE if error.retryable else Resolution.INCOMPATIBLE
    return {
        Symptom.CONFLICT_RETRYABLE: Resolution.RETRYABLE,
        Symptom.CONFLICT_INCOMPATIBLE: Resolution.INCOMPATIBLE,
    }.get(symptom(error))  # type: ignore[arg-type]  # None is simply not there


def parse_conflict(error: BaseException) -> tuple[TransactionKind, TransactionKind, int] | None:
    """Return the refused operation, the first one and its version, if the text names them."""
    found = _CONFLICT.search(str(error))
    if found is None:
        return None
    ours, theirs = _KINDS.get(found[1]), _KINDS.get(found[2])
    return None if ours is None or theirs is None else (ours, theirs, int(found[3]))


def words(error: BaseException) -> str:
    """Lance's words on one line, without the positions in its source code, and without secrets."""
    said = error.strerror if isinstance(error, TimeoutError) else str(error)
    return " ".join(_NOISE.sub("", strip_body(said or "")).split()).rstrip(",. ")


_STORAGE_ERRORS: Final[Mapping[Symptom | None, type[StorageError]]] = {
    Symptom.DENIED: AccessDenied,
    Symptom.FULL: StorageFull,
    Symptom.EXHAUSTED: StorageError,
    Symptom.UNREACHABLE: StoreUnavailable,
    Symptom.COMMIT_UNKNOWN: StoreUnavailable,
}
_DAMAGE = frozenset({Symptom.TORN, Symptom.MISSING, Symptom.VERSION_MISSING})
_MISFITS = frozenset({Symptom.NULLS, Symptom.MISFIT})


class LanceFailure(Exception):  # it never leaves the package
    """A failure of Lance, recognised. Handlers look at ``symptom`` and raise an error of ours."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = harmless(cause)
        self.symptom = symptom(cause)
        self.resolution = classify(cause)
        self.words = words(cause)
        self.conflict = parse_conflict(cause)

    def at(self, location: Location) -> L1Error:
        """Return the error of ours that does not depend on what was being done."""
        where, detail = str(location), self.words
        if self.symptom in _STORAGE_ERRORS:
            return _STORAGE_ERRORS[self.symptom](location=where, detail=detail)
        if self.symptom is Symptom.MIXED_NAMES:
            return MixedVersionNames(location=where, detail="Lance does not open it")
        if self.symptom in _DAMAGE:
            return CorruptDataset(location=where, detail=detail)
        if self.symptom in _MISFITS:
            return InvalidData(location=where, problems=(DataProblem("*", detail),))
        if self.symptom is Symptom.BAD_REQUEST:
            return InvalidRequest(location=where, reason=detail)
        return StorageError(location=where, detail=detail)


def is_store_failure(failure: LanceFailure) -> bool:
    """Return whether a failure says nothing of what is stored, because it could not be read."""
    return failure.symptom in _STORAGE_ERRORS


@contextmanager
def recognize_failures() -> Iterator[None]:
    """Turn every error of pylance in the block into a ``LanceFailure``."""
    try:
        yield
    except _LANCE_RAISES as error:
        raise LanceFailure(error) from error
    except Exception:  # not from Lance: a panic of Rust is no Exception
        raise
    except BaseException as error:
        if not is_rust_panic(error):
            raise
        raise LanceFailure(error) from error


@contextmanager
def translate_errors(location: Location) -> Iterator[None]:
    """Translate every error of Lance in the block, if no failure needs special treatment."""
    try:
        with recognize_failures():
            yield
    except LanceFailure as failure:
        raise failure.at(location) from failure.cause
