"""Errors on their way through Spark, which hands on nothing but text.

Always: the text keeps what a person needs, and one line from which ``cause_of`` makes the same
error again. No error of ours has a secret in its attributes, so neither has the line.
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
from omnigraph_spark._errors.workers import settle_worker

__all__ = ["Carried", "carrying", "cause_of"]

_MARK = "omnigraph-error: "


class Carried(Exception):
    """What Spark is given, instead of the error that is its cause."""


@contextmanager
def carrying() -> Iterator[None]:
    """Do what Spark calls: raise errors of ours such that they can be told from Spark's text."""
    settle_worker()
    try:
        yield
    except OmniGraphError as error:
        # Data can hold the mark, too; as JSON it can be written otherwise.
        written = json.dumps(_written(error)).replace(_MARK, _MARK.replace(" ", r"\u0020"))
        told = f"{error}\n{_MARK}{written}"
        raise Carried(told) from error


def cause_of(error: BaseException) -> OmniGraphError | None:
    """Find the error of a graph in what Spark raised; None where it was something else."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OmniGraphError):
            return seen
        read = (_read(after) for after in reversed(str(seen).split(_MARK)[1:]))
        found = next((each for each in read if each is not None), None)
        if found is not None:
            return found
        seen = seen.__cause__
    return None


def _written(error: OmniGraphError) -> dict[str, Any]:
    fields = attrs.asdict(error, recurse=True) if attrs.has(type(error)) else {}
    return {"kind": error.kind, "fields": json.loads(json.dumps(fields, default=str))}


def _read(text: str) -> OmniGraphError | None:
    try:
        told, _ = json.JSONDecoder().raw_decode(text)
        return _by_kind()[told["kind"]](**{k: _value(v) for k, v in told["fields"].items()})
    except (KeyError, TypeError, ValueError):
        return None


def _value(found: Any) -> Any:
    if isinstance(found, list):
        return tuple(map(_value, found))
    if isinstance(found, dict) and found.keys() == {"column", "problem", "row"}:
        return l2.DataProblem(found["column"], found["problem"], found["row"])
    return found


@lru_cache(maxsize=1)
def _by_kind() -> dict[str, type[OmniGraphError]]:
    classes = [getattr(module, name) for module in (l2, ours) for name in module.__all__]
    return {each.kind: each for each in classes if issubclass(each, OmniGraphError)}
