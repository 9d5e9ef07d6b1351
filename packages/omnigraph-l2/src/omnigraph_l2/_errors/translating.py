"""What the layer below raises, told in the words of this one.

Always: no error of omnigraph_l1 leaves this package; each is chained as the cause of ours. The
code that knows more (which table, which snapshot) translates first; this is the last net.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import omnigraph_l1.errors as l1
from omnigraph_l2._errors.bad_input import (
    DataProblem,
    InvalidData,
    InvalidFilter,
    InvalidLocation,
    InvalidRequest,
)
from omnigraph_l2._errors.base import OmniGraphError
from omnigraph_l2._errors.conflict import OutcomeUnknown, TableContention
from omnigraph_l2._errors.damage import CorruptRepository, UsedAfterFork
from omnigraph_l2._errors.presence import SnapshotExpired, UnknownBranch
from omnigraph_l2._errors.storage import AccessDenied, StorageError, StorageFull, UnsafeStore

__all__ = ["border", "table_border", "translated"]


@contextmanager
def border() -> Iterator[None]:
    """Let nothing of the layer below out."""
    try:
        yield
    except l1.L1Error as error:
        raise translated(error) from error


@contextmanager
def table_border(table_key: str) -> Iterator[None]:
    """Do the same, where it is known which table is meant."""
    try:
        yield
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
        raise InvalidRequest(what=f"This on {table_key}", reason=error.reason) from error
    except l1.L1Error as error:
        raise translated(error) from error


def translated(error: l1.L1Error) -> OmniGraphError:  # noqa: C901, PLR0911, PLR0912
    """Give our word for an error of the layer below."""
    place = str(getattr(error, "place", ""))
    match error:
        case l1.InvalidPlace() | l1.InvalidStorageOptions() | l1.WrongVersionStore():
            return InvalidLocation(place=place, reason=str(error))
        case l1.InvalidData():
            problems = tuple(DataProblem(each.column, each.problem) for each in error.problems)
            return InvalidData(table_key=place, problems=problems)
        case l1.InvalidFilter():
            return InvalidFilter(table_key=place, filter=error.filter, reason=error.reason)
        case l1.BadInput():
            return InvalidRequest(what=f"This on {place}", reason=str(error))
        case l1.StaleBranch() | l1.UnknownBranch():
            return UnknownBranch(place=place, branch=error.branch)
        case l1.Conflict():
            return TableContention(place=place, detail=str(error))
        case l1.OutcomeUnknown():
            return OutcomeUnknown(place=place, detail=error.detail)
        case l1.AccessDenied():
            return AccessDenied(place=place, detail=error.detail)
        case l1.StorageFull():
            return StorageFull(place=place, detail=error.detail)
        case l1.UnsafeStore():
            return UnsafeStore(place=place, detail=error.detail)
        case l1.StorageError():
            return StorageError(place=place, detail=error.detail)
        case l1.UsedAfterFork():
            return UsedAfterFork(what=error.what, made_in=error.made_in, used_in=error.used_in)
        case l1.MixedVersionNames() | l1.CorruptRef() | l1.MovedDataset() | l1.NotFound():
            return CorruptRepository(place=place, item=place, detail=str(error))
        case l1.CorruptDataset():
            return CorruptRepository(place=place, item=place, detail=error.detail)
        case _:
            return StorageError(place=place, detail=str(error))
