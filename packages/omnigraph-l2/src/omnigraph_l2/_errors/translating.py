"""Translate errors of omnigraph_l1 into those of this package.

Invariant: an error of omnigraph_l1 leaves this package only if it is public here too: its storage
errors and ``UsedAfterFork``. Every other one is translated, with the original as its cause. Code
that knows more (the table, the snapshot) translates first; this translation is the last.

A public method that reaches the store does so within ``public_call``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import omnigraph_l1.errors as l1
from omnigraph_l1.deadlines import within
from omnigraph_l1.errors import OmniGraphError
from omnigraph_l2._errors.bad_input import (
    DataProblem,
    InvalidData,
    InvalidFilter,
    InvalidLocation,
    InvalidRequest,
)
from omnigraph_l2._errors.conflict import OutcomeUnknown, TableContention
from omnigraph_l2._errors.damage import CorruptRepository
from omnigraph_l2._errors.not_found_or_exists import SnapshotExpired, UnknownBranch

__all__ = [
    "check_timeout",
    "public_call",
    "translate",
    "translate_errors",
    "translate_table_errors",
]

_SHARED = (l1.StorageError, l1.UsedAfterFork, l1.UnsupportedPylance)
"""Errors that are public in both packages."""


@contextmanager
def public_call(timeout: float) -> Iterator[None]:
    """Translate errors in the block of a public method, and let no wait in it take longer."""
    check_timeout(timeout)
    with translate_errors(), within(timeout):
        yield


def check_timeout(seconds: object) -> None:
    """Raise unless the value is a valid timeout."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not 0 <= seconds <= threading.TIMEOUT_MAX:  # type: ignore[operator]
        reason = "expected a number of seconds >= 0"
        raise InvalidRequest(what=f"timeout {seconds!r}", reason=reason)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate errors of omnigraph_l1."""
    try:
        yield
    except _SHARED:
        raise
    except l1.L1Error as error:
        raise translate(error) from error


@contextmanager
def translate_table_errors(table_key: str) -> Iterator[None]:
    """Translate errors of omnigraph_l1 that concern one table."""
    try:
        yield
    except _SHARED:
        raise
    except l1.InvalidFilter as error:
        raise InvalidFilter(
            table_key=table_key, filter=error.filter, reason=error.reason
        ) from error
    except l1.InvalidData as error:
        problems = tuple(DataProblem(each.column, each.problem) for each in error.problems)
        raise InvalidData(table_key=table_key, problems=problems) from error
    except l1.UnknownVersion as error:
        raise SnapshotExpired(table_key=table_key, table_version=error.version) from error
    except l1.InvalidRequest as error:
        raise InvalidRequest(what=f"request for {table_key}", reason=error.reason) from error
    except l1.L1Error as error:
        raise translate(error) from error


def translate(error: l1.L1Error) -> OmniGraphError:  # noqa: C901, PLR0911, PLR0912
    """Return the error of this package for one of omnigraph_l1."""
    location = str(getattr(error, "location", ""))
    match error:
        case l1.InvalidLocation():
            return InvalidLocation(location=location, reason=f"{error.reason}. {error.expected}")
        case l1.InvalidStorageOptions() | l1.WrongVersionStore():
            return InvalidLocation(location=location, reason=str(error))
        case l1.InvalidData():
            problems = tuple(DataProblem(each.column, each.problem) for each in error.problems)
            return InvalidData(table_key=location, problems=problems)
        case l1.InvalidFilter():
            return InvalidFilter(table_key=location, filter=error.filter, reason=error.reason)
        case l1.BadInput():
            return InvalidRequest(what=f"request for {location}", reason=str(error))
        case l1.StaleBranch() | l1.UnknownBranch():
            return UnknownBranch(location=location, branch=error.branch)
        case l1.Conflict():
            return TableContention(location=location, detail=str(error))
        case l1.OutcomeUnknown():
            return OutcomeUnknown(location=location, detail=error.detail)
        case l1.StorageError() | l1.UsedAfterFork():
            return error
        case l1.UnsafePath():
            return CorruptRepository(location=error.path, item=error.path, detail=str(error))
        case l1.MixedVersionNames() | l1.CorruptRef() | l1.MovedDataset() | l1.NotFound():
            return CorruptRepository(location=location, item=location, detail=str(error))
        case l1.CorruptDataset():
            return CorruptRepository(location=location, item=location, detail=error.detail)
        case _:
            return l1.StorageError(location=location, detail=str(error))
