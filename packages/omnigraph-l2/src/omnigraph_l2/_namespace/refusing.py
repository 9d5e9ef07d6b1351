"""How work is done for a client, and how what went wrong is told: in the contract's own errors.

Always: nothing else leaves, and our own error is its cause. The work runs in a thread of its own:
Lance calls a namespace from inside itself, where calling Lance again can end the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from lance_namespace import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableNotFoundError,
    TableSchemaValidationError,
    TableVersionNotFoundError,
)

from omnigraph_l2.errors import (
    AccessDenied,
    BadInput,
    Conflict,
    InvalidData,
    NotFound,
    OmniGraphError,
    SnapshotExpired,
    StorageError,
    UnknownTable,
    UnknownVersion,
)

__all__ = ["apart"]

_T = TypeVar("_T")
_TOLD_AS: tuple[tuple[type[OmniGraphError], type[LanceNamespaceError]], ...] = (
    (UnknownTable, TableNotFoundError),
    (SnapshotExpired, TableVersionNotFoundError),
    (UnknownVersion, TableVersionNotFoundError),
    (NotFound, NamespaceNotFoundError),
    (InvalidData, TableSchemaValidationError),
    (BadInput, InvalidInputError),
    (Conflict, ConcurrentModificationError),
    (AccessDenied, PermissionDeniedError),
    (StorageError, ServiceUnavailableError),
)
"""The first that fits. The rest, an unknown outcome among it, must not be taken for "try again"."""


def apart(work: Callable[[], _T]) -> _T:
    """Do work in a thread of its own, and tell what went wrong as the contract does."""
    with ThreadPoolExecutor(1, thread_name_prefix="omnigraph-namespace") as thread, _told():
        return thread.submit(work).result()


@contextmanager
def _told() -> Iterator[None]:
    """Turn an error of ours into one of the contract."""
    try:
        yield
    except OmniGraphError as error:
        kinds = (theirs for ours, theirs in _TOLD_AS if isinstance(error, ours))
        message = f"{error.kind}: {error}"
        raise next(kinds, InternalError)(message) from error
