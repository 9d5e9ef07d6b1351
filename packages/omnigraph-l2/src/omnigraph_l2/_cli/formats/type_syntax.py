"""The text syntax of property types, written and parsed. No I/O.

Invariant: ``type_from_text`` reads what ``type_to_text`` returns as an equal type. ``T!`` is an
item or a field that is never null; ``list<T>[3]`` and ``binary[16]`` have a fixed size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

__all__ = ["UnknownType", "type_from_text", "type_to_text"]

_SIMPLE: Final = {
    "string": pa.string(),
    "bool": pa.bool_(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "date32": pa.date32(),
    "date64": pa.date64(),
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    **{
        f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")()
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}
_ALIASES: Final = {
    "text": "string", "str": "string", "utf8": "string", "boolean": "bool", "int": "int64",
    "integer": "int64", "float": "float32", "double": "float64", "halffloat": "float16",
    "bytes": "binary", "date": "date32", "date32[day]": "date32", "date64[ms]": "date64",
    "timestamp": "timestamp[us]", "datetime": "timestamp[us]",
}  # fmt: skip
_NAME_OF: Final = {type_: word for word, type_ in _SIMPLE.items()}
_TIMED: Final[dict[str, Callable[[str], pa.DataType]]] = {
    "timestamp": pa.timestamp,
    "duration": pa.duration,
    "time32": pa.time32,
    "time64": pa.time64,
}
_TOKEN: Final = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|([^\s<>\[\](),:!="]+)|(.))', re.DOTALL)


class UnknownType(ValueError):
    """The text is not a type. The message says what was expected."""


def type_to_text(type_: pa.DataType) -> str:  # noqa: PLR0911, C901 - one return for each kind
    """Return the text of a type."""
    types = pa.types
    if type_ in _NAME_OF:
        return _NAME_OF[type_]
    if types.is_timestamp(type_):
        return f"timestamp[{type_.unit}{'' if type_.tz is None else f', {_quote(type_.tz)}'}]"
    for name, is_it in (
        ("duration", types.is_duration),
        ("time32", types.is_time32),
        ("time64", types.is_time64),
    ):
        if is_it(type_):
            return f"{name}[{type_.unit}]"
    if types.is_decimal128(type_) or types.is_decimal256(type_):
        name = "decimal" if types.is_decimal128(type_) else "decimal256"
        return f"{name}({type_.precision}, {type_.scale})"
    if types.is_fixed_size_binary(type_):
        return f"binary[{type_.byte_width}]"
    if types.is_fixed_size_list(type_):
        return f"list<{_item(type_.value_field)}>[{type_.list_size}]"
    if types.is_list(type_):
        return f"list<{_item(type_.value_field)}>"
    if types.is_large_list(type_):
        return f"large_list<{_item(type_.value_field)}>"
    if types.is_struct(type_):
        return f"struct<{', '.join(_named_field(type_.field(i)) for i in range(type_.num_fields))}>"
    if types.is_map(type_):
        sorted_ = ", sorted" if type_.keys_sorted else ""
        return f"map<{type_to_text(type_.key_type)}, {_inner(type_.item_field)}{sorted_}>"
    message = f"Unsupported type: {type_}"
    raise UnknownType(message)


def type_from_text(text: str) -> pa.DataType:
    """Parse a type."""
    reader = _Reader(text)
    found = reader.type()
    if reader.peek() is not None:
        reader.fail("the end")
    return found


def _item(field: pa.Field) -> str:
    return _inner(field) if field.name == "item" else _named_field(field)


def _named_field(field: pa.Field) -> str:
    return f"{_quote(field.name)}: {_inner(field)}"


def _inner(field: pa.Field) -> str:
    return f"{type_to_text(field.type)}{'' if field.nullable else '!'}"


def _quote(name: str) -> str:
    plain = re.fullmatch(r"\w[\w+/-]*", name)
    return name if plain else json.dumps(name)


class _Reader:
    """Parses a type from left to right, one token at a time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = [match for match in _TOKEN.finditer(text) if match.group().strip()]
        self._at = 0

    def peek(self) -> str | None:
        if self._at == len(self._words):
            return None
        return self._words[self._at].group().strip()

    def fail(self, expected: str) -> Any:
        found = self.peek()
        where = "found the end" if found is None else f"found {found!r}"
        message = f"Invalid type {self._text!r}: expected {expected}, {where}"
        raise UnknownType(message)

    def type(self) -> pa.DataType:  # noqa: PLR0911 - one return for each kind
        word = self.peek()
        if word is None:
            self.fail(f"one of {', '.join(_SIMPLE)}, timestamp[us], decimal(10, 2), list<…>")
        name = self._name()
        if name in _TIMED and self.peek() == "[":
            return self._time_type(name)
        if name == "binary" and self.peek() == "[":
            return pa.binary(self._read_size())
        if name in {"decimal", "decimal128", "decimal256"}:
            return self._decimal(name)
        if name in {"list", "large_list"}:
            return self._list(name)
        if name == "struct":
            return pa.struct(self._several(self._field))
        if name == "map":
            return self._map()
        name = _ALIASES.get(name, name)
        if name == "timestamp[us]":
            return pa.timestamp("us")
        if name not in _SIMPLE:
            self._at -= 1
            self.fail(f"one of {', '.join(_SIMPLE)}, timestamp[us], decimal(10, 2), list<…>")
        return _SIMPLE[name]

    def _name(self) -> str:
        word = self.peek()
        if word is None or (len(word) == 1 and word in '<>[](),:!="'):
            self.fail("a name")
        self._at += 1
        assert word is not None  # noqa: S101 - fail() raises
        if not word.startswith('"'):
            return word
        try:
            return str(json.loads(word))
        except ValueError:
            self._at -= 1
            return str(self.fail("a name in quotes"))

    def _take(self, mark: str) -> None:
        if self.peek() != mark:
            self.fail(repr(mark))
        self._at += 1

    def _number(self) -> int:
        minus = self.peek()
        name = self._name()
        if not re.fullmatch(r"-?\d{1,9}", name):
            self._at -= 1
            self.fail(f"a number instead of {minus!r}")
        return int(name)

    def _read_size(self) -> int:
        self._take("[")
        number = self._number()
        self._take("]")
        return number

    def _time_type(self, name: str) -> pa.DataType:
        self._take("[")
        unit = self._name()
        zone = None
        if name == "timestamp" and self.peek() == ",":
            self._at += 1
            zone = self._zone()
        self._take("]")
        try:
            return pa.timestamp(unit, zone) if zone is not None else _TIMED[name](unit)
        except ValueError:
            return self.fail(f"a unit of {name} instead of {unit!r}")

    def _zone(self) -> str:
        name = self._name()
        if name == "tz" and self.peek() == "=":
            self._at += 1
            name = self._name()
        while self.peek() == ":":  # as in +05:30
            self._at += 1
            name = f"{name}:{self._name()}"
        return name

    def _decimal(self, name: str) -> pa.DataType:
        self._take("(")
        precision = self._number()
        self._take(",")
        scale = self._number()
        self._take(")")
        make = pa.decimal256 if name == "decimal256" else pa.decimal128
        try:
            return make(precision, scale)
        except ValueError:
            return self.fail(f"a precision of {name} instead of {precision}")

    def _list(self, name: str) -> pa.DataType:
        self._take("<")
        field = self._field("item")
        self._take(">")
        if name == "list" and self.peek() == "[":
            return pa.list_(field, self._read_size())
        return pa.large_list(field) if name == "large_list" else pa.list_(field)

    def _map(self) -> pa.DataType:
        self._take("<")
        key = self.type()
        self._take(",")
        item = self._nullable("value", self.type())
        is_sorted = self.peek() == ","
        if is_sorted:
            self._at += 1
            if self._name() != "sorted":
                self._at -= 1
                self.fail("'sorted'")
        self._take(">")
        return pa.map_(pa.field("key", key, nullable=False), item, keys_sorted=is_sorted)

    def _field(self, default: str | None = None) -> pa.Field:
        start = self._at
        if default is not None:
            self._name()
            if self.peek() != ":":
                self._at = start
                return self._nullable(default, self.type())
            self._at = start
        name = self._name()
        self._take(":")
        return self._nullable(name, self.type())

    def _nullable(self, name: str, type_: pa.DataType) -> pa.Field:
        required = self.peek() == "!"
        self._at += required
        return pa.field(name, type_, nullable=not required)

    def _several(self, read: Callable[[], pa.Field]) -> list[pa.Field]:
        self._take("<")
        found: list[pa.Field] = []
        while self.peek() != ">":
            found.append(read())
            if self.peek() != ",":
                break
            self._at += 1
        self._take(">")
        return found
