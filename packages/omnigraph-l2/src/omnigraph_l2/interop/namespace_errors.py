"""Run requests of a namespace client and translate errors into those of the namespace contract.

Invariant: no other error leaves; the OmniGraph error is its cause. A request runs in its own
thread, because Lance calls a namespace from inside itself, where calling Lance again can end the
process.
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

__all__ = ["run_in_thread"]

_T = TypeVar("_T")
_NAMESPACE_ERRORS: tuple[tuple[type[OmniGraphError], type[LanceNamespaceError]], ...] = (
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


def run_in_thread(work: Callable[[], _T]) -> _T:
    """Run a function in its own thread and translate its errors into those of the contract."""
    with ThreadPoolExecutor(1, thread_name_prefix="omnigraph-namespace") as thread, _translate():
        return thread.submit(work).result()


@contextmanager
def _translate() -> Iterator[None]:
    """Turn an error of ours into one of the contract."""
    try:
        yield
    except OmniGraphError as error:
        kinds = (theirs for ours, theirs in _NAMESPACE_ERRORS if isinstance(error, ours))
        message = f"{error.kind}: {error}"
        raise next(kinds, InternalError)(message) from error
