"""What obstore raises for what a store answers, or does not: its classes, its first lines.

Measured with obstore 0.12.1 over S3; a test compares each with the real thing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph_testing._faults.s3_statuses import words_of
from omnigraph_testing._faults.store_operation import Operation

if TYPE_CHECKING:
    from obstore.exceptions import GenericError

__all__ = ["answer_error", "body_error", "connection_error", "status_of"]

SENDING = "HTTP error: error sending request"
OPENINGS = {
    "FileNotFoundError": "Object at location {key} not found",
    "AlreadyExistsError": "Object at location {key} already exists",
    "PreconditionError": "Request precondition failure for path {key}",
    "PermissionDeniedError": "The operation lacked the necessary privileges to complete for path "
    "{key}",
    "UnauthenticatedError": "The operation lacked valid authentication credentials for path {key}",
}
CLASSES = {
    401: "UnauthenticatedError",
    403: "PermissionDeniedError",
    404: "FileNotFoundError",
    409: "AlreadyExistsError",
    412: "PreconditionError",
}
STATUSES = {
    "AlreadyExistsError": 412,
    "FileNotFoundError": 404,
    "NotModifiedError": 304,
    "NotSupportedError": 501,
    "PermissionDeniedError": 403,
    "PreconditionError": 412,
    "UnauthenticatedError": 401,
}


def connection_error(operation: Operation, *, connected: bool = True) -> GenericError:
    """Return the error for a connection that broke or was not made; obstore raises the same."""
    source = "Hyper(Canceled)" if connected else "Connect(ConnectionRefused)"
    return _generic(f"{_performing(operation)} - {SENDING}\n\nDebug source:\n{source}")


def body_error(operation: Operation, *, unreadable: bool) -> GenericError:
    """Return the error for a reply that ends early, or that is unreadable for that reason."""
    if unreadable:
        return _generic(f"Got invalid {operation.method} response: it ends too early")
    return _generic("HTTP error: request or response body error")


def answer_error(operation: Operation, status: int) -> Exception:
    """Return the error for an error status."""
    reason, code, message = words_of(status)
    said = (
        f"{_performing(operation)} - Server returned non-2xx status code: {status} {reason}: "
        f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    )
    name = None if operation.method == "LIST" else CLASSES.get(status)
    condition = operation.condition or ""
    if operation.verb == "PUT" and status == 412 and condition.startswith("if-none-match"):  # noqa: PLR2004
        name = "AlreadyExistsError"
    if operation.verb == "PUT" and status == 404 and condition.startswith("if-match"):  # noqa: PLR2004
        name = "PreconditionError"
    if name is None:
        return _generic(said)
    message = f"{OPENINGS[name].format(key=operation.key)}: {said}"
    return FileNotFoundError(message) if name == "FileNotFoundError" else _make_error(name, message)


def status_of(error: Exception | None) -> int:
    """Return the status that an HTTP store sends where obstore then raises this; 200 for None."""
    return 200 if error is None else STATUSES.get(type(error).__name__, 500)


def _performing(operation: Operation) -> str:
    asked = f"Error performing {operation.verb} {operation.key}"
    return f"Error performing list request: {asked}" if operation.method == "LIST" else asked


def _generic(message: str) -> GenericError:
    from obstore.exceptions import GenericError  # noqa: PLC0415 - heavy, and only some tests use it

    return GenericError(f"Generic faulty store error: {message}")


def _make_error(name: str, message: str) -> Exception:
    from obstore import exceptions  # noqa: PLC0415 - heavy, and only some tests use it

    made: type[Exception] = getattr(exceptions, name)
    return made(message)
