"""What went wrong, as HTTP says it (RFC 9457): one place that knows which error is which status.

The groups of ``omnigraph_l2.errors`` are made by what the caller can do, and so are statuses.
"""

from __future__ import annotations

from typing import Any

import attrs
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from omnigraph_l2.errors import (
    BadInput,
    CommitOutcomeUnknown,
    Conflict,
    DanglingEdges,
    DuplicateIds,
    DuplicateValues,
    InvalidData,
    NotFound,
    OmniGraphError,
    StorageError,
)

_STATUS: tuple[tuple[type[OmniGraphError], int, str], ...] = (
    (InvalidData, 422, "Mend the data: problems has all that is wrong with it."),
    (DanglingEdges, 422, "Add the nodes that are missing in the same request."),
    (DuplicateIds, 409, "Some ids are taken, or stand twice: choose others, or replace with PUT."),
    (DuplicateValues, 409, "Some values must be unique and are taken: choose others."),
    (BadInput, 400, "Change the request."),
    (NotFound, 404, "Name another, or make it first."),
    (Conflict, 409, "Others were first, again and again. Read again, decide anew, send again."),
    (StorageError, 503, "The store did not answer. Nothing was changed; send again later."),
)
"""The first that fits. Everything else is damage: 500, for a person to look at."""


def answer_problems(app: FastAPI) -> None:
    """Answer with a problem wherever an error of omnigraph leaves an endpoint."""
    app.add_exception_handler(CommitOutcomeUnknown, _unknown)
    app.add_exception_handler(OmniGraphError, _problem)


def _unknown(_request: Request, error: Exception) -> JSONResponse:
    """Say that nobody knows yet, which commit it would be, and where to look for it."""
    assert isinstance(error, CommitOutcomeUnknown)
    where = f"/commits/{error.commit_id}"
    advice = (
        f"It may have happened. Look at {where}: if it is there, it did. With an Idempotency-Key "
        "send the same again: it is done once."
    )
    body = _body(503, error, advice) | {"commit": error.commit_id, "look": where}
    return _response(503, body, {"Retry-After": "5", "Link": f'<{where}>; rel="monitor"'})


def _problem(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OmniGraphError)
    for kind, status, advice in _STATUS:
        if isinstance(error, kind):
            headers = {"Retry-After": "5"} if status == 503 else {}
            return _response(status, _body(status, error, advice) | _listed(error), headers)
    return _response(500, _body(500, error, "A person must look at the repository."), {})


def _listed(error: OmniGraphError) -> dict[str, Any]:
    """List what is wrong, each by itself."""
    if isinstance(error, InvalidData):
        return {"problems": [attrs.asdict(each) for each in error.problems]}
    if isinstance(error, DanglingEdges):
        return {"problems": [{"column": error.column, "missing": list(error.missing)}]}
    if isinstance(error, DuplicateIds):
        taken = [{"id": each, "problem": "is taken"} for each in error.existing]
        return {"problems": taken + [{"id": i, "problem": "stands twice"} for i in error.repeated]}
    return {}


def _body(status: int, error: OmniGraphError, advice: str) -> dict[str, Any]:
    return {"type": f"/problems/{error.kind}", "status": status, "detail": str(error),
            "advice": advice}  # fmt: skip


def _response(status: int, body: dict[str, Any], headers: dict[str, str]) -> JSONResponse:
    return JSONResponse(body, status, headers, media_type="application/problem+json")
