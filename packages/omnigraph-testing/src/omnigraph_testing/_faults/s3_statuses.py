"""What S3 says along with an error status: reason, code and message."""

from __future__ import annotations

__all__ = ["words_of"]

WORDS = {
    403: ("Forbidden", "AccessDenied", "Access Denied"),
    404: ("Not Found", "NoSuchKey", "The specified key does not exist."),
    409: (
        "Conflict",
        "ConditionalRequestConflict",
        "A conflicting operation against this resource is under way. Please try again.",
    ),
    412: (
        "Precondition Failed",
        "PreconditionFailed",
        "At least one of the pre-conditions you specified did not hold",
    ),
    500: (
        "Internal Server Error",
        "InternalError",
        "We encountered an internal error. Please try again.",
    ),
    502: ("Bad Gateway", "BadGateway", "The server behind the gateway does not answer."),
    503: ("Service Unavailable", "SlowDown", "Please reduce your request rate."),
}


def words_of(status: int) -> tuple[str, str, str]:
    """Return reason, code and message; of a status that S3 does not use, something like it."""
    code = "InternalError" if status >= 500 else "InvalidRequest"  # noqa: PLR2004
    return WORDS.get(status, ("Error", code, "Error."))
