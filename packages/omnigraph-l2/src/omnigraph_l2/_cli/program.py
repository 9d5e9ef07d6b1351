"""Running what was typed, and telling how it ended.

Always: no traceback reaches a person. An error is one message on standard error, or one JSON
document there with ``--json``; the exit status tells its sort.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence

from cyclopts import CycloptsError, UnusedCliTokensError

from omnigraph_l2._cli.app import app
from omnigraph_l2._cli.escaping import escaped, escaped_lines
from omnigraph_l2._cli.plain import error_document
from omnigraph_l2._cli.status import (
    BROKEN_PIPE,
    FAILED,
    INTERRUPTED,
    WRONG,
    Stopped,
    status_of,
)
from omnigraph_l2._cli.streams import dropped
from omnigraph_l2.errors import OmniGraphError

__all__ = ["run"]

_TRACE = "OMNIGRAPH_TRACEBACK"
_HELP = "See omnigraph --help, or omnigraph COMMAND --help."
_FLAGS = {"-", "--", "--json", "--quiet", "-q", "--pager", "--no-pager", "--yes", "-y"}
"""Options of ``load`` that no value follows."""


def run(typed: Sequence[str]) -> int:
    """Run a command; give the exit status."""
    try:
        return _ran(typed)
    except BrokenPipeError:
        dropped(sys.stdout)
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED


def _ran(typed: Sequence[str]) -> int:
    as_json = any(each in {"--json", "--json=true"} for each in typed)
    try:
        status = app(
            _plain_words(typed),
            print_error=False,
            exit_on_error=False,
            result_action="return_value",
        )
        sys.stdout.flush()
    except CycloptsError as error:
        return _told(error, "usage", f"{_wrong(error)} {_HELP}", WRONG, as_json=as_json)
    except (OmniGraphError, Stopped) as error:
        return _told(error, error.kind, str(error), status_of(error), as_json=as_json)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001 - the last net: no traceback for people
        return _unforeseen(error, as_json=as_json)
    return status if isinstance(status, int) else 0


def _wrong(error: CycloptsError) -> str:
    if isinstance(error, UnusedCliTokensError):
        return f"nothing takes {' '.join(error.unused_tokens or ())!r}."
    return str(error).rstrip()


def _unforeseen(error: Exception, *, as_json: bool) -> int:
    if os.environ.get(_TRACE):
        traceback.print_exception(error)
    if isinstance(error, OSError) and error.filename is None:
        dropped(sys.stdout)
        message = f"the results could not be written: {error.strerror}"
        return _told(error, "failed", message, FAILED, as_json=as_json)
    named = f"{type(error).__name__}: {error}"
    hint = (
        "This should not happen: it is a bug of omnigraph. Nothing was published by this "
        f"command unless it said so. Run it again with {_TRACE}=1 for what to report."
    )
    return _told(error, "bug", f"{named}\n{hint}", FAILED, as_json=as_json)


def _plain_words(typed: Sequence[str]) -> list[str]:
    """Put a file in the place of a lone ``-``, unless it is the value of an option."""
    if list(typed[:1]) != ["load"]:
        return list(typed)
    return [
        "/dev/stdin" if each == "-" and _takes_nothing(before) else each
        for before, each in zip(("", *typed), typed, strict=False)
    ]


def _takes_nothing(word: str) -> bool:
    return not word.startswith("-") or "=" in word or word in _FLAGS


def _told(error: BaseException, kind: str, message: str, status: int, *, as_json: bool) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:
        dropped(sys.stdout)
    if as_json:
        line = json.dumps(error_document(error, kind, message), ensure_ascii=True)
    else:
        line = f"{escaped(kind)}: {escaped_lines(message)}"
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:  # there is nobody left to tell
        dropped(sys.stderr)
    return status
