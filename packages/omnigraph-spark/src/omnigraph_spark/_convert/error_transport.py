"""Carry typed errors through Spark, which transports only text.

Invariant: the text is readable, and has one line from which ``cause_of`` restores the error.
Attributes of errors hold no secrets, so the line holds none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import attrs

import omnigraph_l2.errors as l2
from omnigraph_l2 import OmniGraphError
from omnigraph_spark import errors as ours
from omnigraph_spark._convert.worker_memory import freeze_imports

__all__ = ["TransportedError", "cause_of", "transport_errors"]

_MARK = "omnigraph-error: "


class TransportedError(Exception):
    """An error as text for Spark. The typed error is its cause."""


@contextmanager
def transport_errors() -> Iterator[None]:
    """Run what Spark calls; raise typed errors as text that ``cause_of`` can read."""
    freeze_imports()
    try:
        yield
    except OmniGraphError as error:
        # Data may contain the mark; JSON can spell it differently.
        encoded = json.dumps(_encode_error(error)).replace(_MARK, _MARK.replace(" ", r"\u0020"))
        text = f"{error}\n{_MARK}{encoded}"
        raise TransportedError(text) from error


def cause_of(error: BaseException) -> OmniGraphError | None:
    """Return the typed error behind an error of Spark, or None where there is none."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OmniGraphError):
            return seen
        read = (_decode_error(after) for after in reversed(str(seen).split(_MARK)[1:]))
        found = next((each for each in read if each is not None), None)
        if found is not None:
            return found
        seen = seen.__cause__
    return None


def _encode_error(error: OmniGraphError) -> dict[str, Any]:
    fields = attrs.asdict(error, recurse=True) if attrs.has(type(error)) else {}
    return {"kind": error.kind, "fields": json.loads(json.dumps(fields, default=str))}


def _decode_error(text: str) -> OmniGraphError | None:
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
        return _by_kind()[found["kind"]](
            **{k: _restore_value(v) for k, v in found["fields"].items()}
        )
    except (KeyError, TypeError, ValueError):
        return None


def _restore_value(found: Any) -> Any:
    if isinstance(found, list):
        return tuple(map(_restore_value, found))
    if isinstance(found, dict) and found.keys() == {"column", "problem", "row"}:
        return l2.DataProblem(found["column"], found["problem"], found["row"])
    return found


@lru_cache(maxsize=1)
def _by_kind() -> dict[str, type[OmniGraphError]]:
    classes = [getattr(module, name) for module in (l2, ours) for name in module.__all__]
    return {each.kind: each for each in classes if issubclass(each, OmniGraphError)}
