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

from cyclopts import CycloptsError

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
from omnigraph_l2.errors import OmniGraphError

__all__ = ["run"]

_TRACE = "OMNIGRAPH_TRACEBACK"


def run(typed: Sequence[str]) -> int:
    """Run a command; give the exit status."""
    try:
        status = _ran(typed)
        sys.stdout.flush()
    except BrokenPipeError:
        _close_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _ran(typed: Sequence[str]) -> int:
    as_json = "--json" in typed
    try:
        status = app(
            _plain_words(typed),
            print_error=False,
            exit_on_error=False,
            result_action="return_value",
        )
    except CycloptsError as error:
        help_ = "See omnigraph --help, or omnigraph COMMAND --help."
        return _told(error, "usage", f"{str(error).rstrip()} {help_}", WRONG, as_json=as_json)
    except (OmniGraphError, Stopped) as error:
        return _told(error, error.kind, str(error), status_of(error), as_json=as_json)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001 - the last net: no traceback for people
        if os.environ.get(_TRACE):
            traceback.print_exc()
        named = f"{type(error).__name__}: {error}"
        hint = (
            "This should not happen: it is a bug of omnigraph. Nothing was published by this "
            f"command unless it said so. Run it again with {_TRACE}=1 for what to report."
        )
        return _told(error, "bug", f"{named}\n{hint}", FAILED, as_json=as_json)
    return status if isinstance(status, int) else 0


def _plain_words(typed: Sequence[str]) -> list[str]:
    """Put a file in the place of a lone ``-``, which would be taken for an option."""
    if list(typed[:1]) != ["load"]:
        return list(typed)
    return ["/dev/stdin" if each == "-" else each for each in typed]


def _told(error: BaseException, kind: str, message: str, status: int, *, as_json: bool) -> int:
    sys.stdout.flush()
    if as_json:
        line = json.dumps(error_document(error, kind, message), ensure_ascii=True)
    else:
        line = f"{escaped(kind)}: {escaped_lines(message)}"
    sys.stderr.write(f"{line}\n")
    return status


def _close_stdout() -> None:
    """Nobody reads any more: let nothing be written when Python ends."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
