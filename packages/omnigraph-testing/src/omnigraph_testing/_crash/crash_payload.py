"""What a process under test shall run, packed so that another interpreter can load it.

Invariant: a function travels as its module and name, never as code, and the modules that pytest
loaded in its own way travel with the files that they came from.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from omnigraph_testing._test_modules import modules_of_tests
from omnigraph_testing.errors import InvalidOption, UnusableFunction

__all__ = ["Payload", "pack_function", "pack_script"]


@attrs.frozen(kw_only=True)
class Payload:
    """A pickled call with the modules it needs, or a script with its arguments."""

    label: str
    call: bytes = attrs.field(default=b"", repr=False)
    modules: dict[str, dict[str, Any]] = attrs.field(factory=dict, repr=False)
    main: str | None = None
    script: str | None = None
    script_arguments: tuple[str, ...] = ()


def pack_function(
    function: Callable[..., object], arguments: Sequence[object], keywords: dict[str, object]
) -> Payload:
    """Pack a call of a function of a module's top level."""
    label = getattr(function, "__qualname__", repr(function))
    if "OMNIGRAPH_CRASH_LOADING" in os.environ:
        reason = (
            'its script starts it while being loaded; guard that with if __name__ == "__main__"'
        )
        raise UnusableFunction(function=label, reason=reason)
    try:
        call = pickle.dumps((function, tuple(arguments), keywords))
    except Exception as error:  # pickling runs anybody's code
        raise UnusableFunction(function=label, reason=str(error)) from error
    main = sys.modules["__main__"]
    in_script = b"__main__" in call
    script = getattr(main, "__file__", None)
    if in_script and script is None:
        reason = "it was typed into an interactive session, so there is no file to load it from"
        raise UnusableFunction(function=label, reason=reason)
    return Payload(
        label=label, call=call, modules=modules_of_tests(), main=script if in_script else None
    )


def pack_script(script: str | os.PathLike[str], arguments: Sequence[str]) -> Payload:
    """Pack a run of a Python script."""
    path = os.path.abspath(script)  # noqa: PTH100 - a text is wanted, links are left as they are
    if not os.path.isfile(path):  # noqa: PTH113
        raise InvalidOption(option="script", found=repr(path), expected="a file that is there")
    label = os.path.basename(path)  # noqa: PTH119
    return Payload(label=label, script=path, script_arguments=tuple(map(str, arguments)))
