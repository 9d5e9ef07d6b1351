"""Keys that a caller looks for: as values of the column, each once. Pure.

Always: a key means exactly one value of the column, or is refused. Arrow would round 1.5 to 1 for
a column of whole numbers, and a text is no list of its letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from omnigraph_l1._places import Place
from omnigraph_l1._table.fitting import key_problems
from omnigraph_l1._table.literals import all_are_literals, in_list
from omnigraph_l1.errors import DataProblem, InvalidData

__all__ = ["checked_keys", "key_filters"]

_KEYS_IN_ONE_FILTER = 2000


def checked_keys(key: str, values: Iterable[Any], schema: pa.Schema, *, place: Place) -> pa.Array:
    """Give the values of the key column that are meant, each once."""
    problems = key_problems(key, schema)
    if not problems:
        try:
            return _values(values, schema.field(key).type).unique()
        except (TypeError, ValueError, OverflowError, pa.lib.ArrowException) as error:
            expected = f"is looked for with values that are none of {schema.field(key).type}"
            problems = [DataProblem(key, f"{expected}: {error}")]
    raise InvalidData(place=str(place), problems=tuple(problems))


def key_filters(key: str, wanted: pa.Array) -> list[str] | None:
    """Write filters that match each key once; None where the keys have no literals."""
    values = wanted.to_pylist()
    spelt = pa.types.is_integer(wanted.type) or pa.types.is_string(wanted.type)
    if not spelt or not all_are_literals(values):
        return None
    return [
        in_list(key, values[start : start + _KEYS_IN_ONE_FILTER])
        for start in range(0, len(values), _KEYS_IN_ONE_FILTER)
    ]


def _values(values: Iterable[Any], type_: pa.DataType) -> pa.Array:
    if isinstance(values, (str, bytes, Mapping)):
        msg = f"expected a list of keys, found {type(values).__name__}"
        raise TypeError(msg)
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        values = values.to_pylist()
    given = list(values)
    found = pa.array(given, type_)
    may_round = pa.types.is_integer(type_) or pa.types.is_date(type_)
    if may_round and found.to_pylist() != given:
        msg = "they would be rounded"
        raise ValueError(msg)
    return found
