"""Run a command line and report how it ended.

Invariant: no traceback is printed. An error is one message on standard error, or with ``--json``
one JSON document there; the exit status gives its category.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence

from cyclopts import CycloptsError, UnusedCliTokensError

from omnigraph_l2._cli.cyclopts_app import app
from omnigraph_l2._cli.exit_status import (
    BROKEN_PIPE,
    FAILED,
    INTERRUPTED,
    WRONG,
    Stopped,
    status_of,
)
from omnigraph_l2._cli.json_document import error_document
from omnigraph_l2._cli.terminal_output import discard_stream, escape, escape_lines

__all__ = ["run"]

_TRACE = "OMNIGRAPH_TRACEBACK"
_HELP = "See omnigraph --help, or omnigraph COMMAND --help."
_FLAGS = {"-", "--", "--json", "--quiet", "-q", "--pager", "--no-pager", "--yes", "-y"}
"""Options of ``load`` without a value."""


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status."""
    try:
        return _execute(arguments)
    except BrokenPipeError:
        discard_stream(sys.stdout)
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED


def _execute(arguments: Sequence[str]) -> int:
    as_json = any(each in {"--json", "--json=true"} for each in arguments)
    try:
        status = app(
            _replace_dash(arguments),
            print_error=False,
            exit_on_error=False,
            result_action="return_value",
        )
        sys.stdout.flush()
    except CycloptsError as error:
        return _report_error(
            error, "usage", f"{_usage_message(error)} {_HELP}", WRONG, as_json=as_json
        )
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001 - no traceback is printed
        return _report_failure(error, as_json=as_json)
    return status if isinstance(status, int) else 0


def _usage_message(error: CycloptsError) -> str:
    if isinstance(error, UnusedCliTokensError):
        return f"unexpected argument: {' '.join(error.unused_tokens or ())!r}."
    return str(error).rstrip()


def _report_failure(error: Exception, *, as_json: bool) -> int:
    from omnigraph_l2.errors import OmniGraphError  # noqa: PLC0415 - it imports Lance

    if isinstance(error, OmniGraphError | Stopped):
        return _report_error(error, error.kind, str(error), status_of(error), as_json=as_json)
    return _report_bug(error, as_json=as_json)


def _report_bug(error: Exception, *, as_json: bool) -> int:
    if os.environ.get(_TRACE):
        traceback.print_exception(error)
    if isinstance(error, OSError) and error.filename is None:
        discard_stream(sys.stdout)
        message = f"Cannot write the results: {error.strerror}"
        return _report_error(error, "failed", message, FAILED, as_json=as_json)
    named = f"{type(error).__name__}: {error}"
    hint = (
        "This is a bug of omnigraph. This command published nothing unless it reported so. "
        f"Run it again with {_TRACE}=1 and report the traceback."
    )
    return _report_error(error, "bug", f"{named}\n{hint}", FAILED, as_json=as_json)


def _replace_dash(arguments: Sequence[str]) -> list[str]:
    """Replace ``-`` by the file of standard input, unless it is the value of an option."""
    if list(arguments[:1]) != ["load"]:
        return list(arguments)
    return [
        "/dev/stdin" if each == "-" and _is_flag(before) else each
        for before, each in zip(("", *arguments), arguments, strict=False)
    ]


def _is_flag(word: str) -> bool:
    return not word.startswith("-") or "=" in word or word in _FLAGS


def _report_error(
    error: BaseException, kind: str, message: str, status: int, *, as_json: bool
) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:
        discard_stream(sys.stdout)
    if as_json:
        line = json.dumps(error_document(error, kind, message), ensure_ascii=True)
    else:
        line = f"{escape(kind)}: {escape_lines(message)}"
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:  # standard error is closed
        discard_stream(sys.stderr)
    return status
