"""The types of a graph, inferred from files of rows.

Always: every row is looked at, so that what is inferred holds every value. What cannot be told from
the data (which nodes an edge joins, where several fit) is an error that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from attrs import define, field

from omnigraph_l2 import EdgeType, GraphSchema, NodeType
from omnigraph_l2._cli.status import UsageError
from omnigraph_l2._cli.work.load.files import opened
from omnigraph_l2._cli.work.load.parsing import Unfit, column_of_text
from omnigraph_l2._cli.work.load.pieces import Malformed, pieces_of
from omnigraph_l2._cli.work.load.rows import ArrowRows, Rows
from omnigraph_l2._cli.work.load.words import STDIN, FileWord, files_by_table, formatted

__all__ = ["Inferred", "inferred"]

_GIVEN: Final = ("id", "src", "dst")
_LADDER: Final = (
    pa.bool_(), pa.int64(), pa.float64(), pa.date32(), pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
)  # fmt: skip
"""What text may be, the narrowest first; else it is text."""
_TIMES: Final = _LADDER[3:]
_LEADING_ZERO: Final = re.compile(r"[+-]?0\d")
_ENDS_LOOKED_AT: Final = 1000


@define
class _Column:
    """What a column may still be."""

    candidates: list[pa.DataType] | None = None
    """None where no value was seen yet."""
    arrow: pa.DataType | None = None

    def see_text(self, values: pa.Array, ladder: Sequence[pa.DataType]) -> None:
        """Look at texts."""
        there = values.drop_null()
        if not len(there):
            return
        left = list(ladder) if self.candidates is None else self.candidates
        self.candidates = [each for each in left if _reads(there, each)]

    @property
    def type(self) -> pa.DataType:
        """The narrowest that holds all values."""
        if self.arrow is not None:
            return self.arrow
        return self.candidates[0] if self.candidates else pa.string()


@define
class Inferred:
    """What was found in the files of one table."""

    key: str
    rows: int = 0
    columns: dict[str, _Column] = field(factory=dict)
    ends: dict[str, list[str]] = field(factory=lambda: {"src": [], "dst": []})
    words: list[FileWord] = field(factory=list)

    @property
    def properties(self) -> dict[str, pa.DataType]:
        """The columns that are not given anyway."""
        given = _GIVEN if self.key.startswith("edge:") else _GIVEN[:1]
        return {name: each.type for name, each in self.columns.items() if name not in given}


def inferred(words: Sequence[str]) -> tuple[GraphSchema, list[Inferred]]:
    """Look at files; give the types, and what they were inferred from."""
    found: dict[str, Inferred] = {}
    for table, names in files_by_table(words).items():
        for name in names:
            if name == STDIN:
                message = "types are inferred from files: standard input could not be loaded then"
                raise UsageError(message)
            word = formatted(name, None)
            key = table or _key_of(word)
            one = found.setdefault(key, Inferred(key))
            one.words.append(word)
            _look(one, word)
    nodes = [each for each in found.values() if each.key.startswith("node:")]
    edges = [each for each in found.values() if each.key.startswith("edge:")]
    schema = GraphSchema(
        nodes=[NodeType(_name(each), each.properties) for each in nodes],
        edges=[EdgeType(_name(each), *_ends(each, nodes), each.properties) for each in edges],
    )
    return schema, [*nodes, *edges]


def _name(each: Inferred) -> str:
    return each.key.partition(":")[2]


def _key_of(word: FileWord) -> str:
    """Name the table of a file as the file is named: of edges, where it has their ends."""
    name = Path(word.name).name.split(".")[0]
    names = next((set(piece.names) for piece in _rows(word)), set())
    return f"edge:{name}" if {"src", "dst"} <= names else f"node:{name}"


def _rows(word: FileWord) -> Iterator[Rows]:
    with opened(word) as file:
        for piece in pieces_of(word, file, exact=True):
            if not isinstance(piece, Malformed):
                yield piece


def _look(one: Inferred, word: FileWord) -> None:
    for piece in _rows(word):
        one.rows += len(piece)
        if isinstance(piece, ArrowRows):
            _see_arrow(one, word, piece)
        else:
            _see_values(one, word, piece)
        columns = piece.columns()
        for end in one.ends:
            if len(one.ends[end]) < _ENDS_LOOKED_AT:
                values = (str(each) for each in columns.get(end, ()) if each is not None)
                one.ends[end] += islice(values, _ENDS_LOOKED_AT)


def _see_arrow(one: Inferred, word: FileWord, piece: ArrowRows) -> None:
    for name, type_ in piece.types().items():
        column = one.columns.setdefault(name, _Column())
        if column.arrow is not None and column.arrow != type_:
            message = (
                f"{word.name}: {name!r} is {type_}, and was {column.arrow} in a file before it: "
                "write the schema yourself"
            )
            raise UsageError(message)
        column.arrow = type_


def _see_values(one: Inferred, word: FileWord, piece: Rows) -> None:
    for name, values in piece.columns().items():
        column = one.columns.setdefault(name, _Column())
        if piece.has_header:
            column.see_text(pa.array(values, pa.string()), _LADDER)
            continue
        try:
            _see_json(column, values)
        except Unfit as error:
            message = f"{word.name}: {name!r} {error}: write the schema yourself"
            raise UsageError(message) from error


def _see_json(column: _Column, values: Sequence[Any]) -> None:
    there = [each for each in values if each is not None]
    if not there:
        return
    if all(isinstance(each, str) for each in there):
        if column.arrow is not None:
            message = "is text in some rows, and something else in others"
            raise Unfit(message)
        column.see_text(pa.array(there, pa.string()), _TIMES)
        return
    found = _arrow_type(there)
    before = column.arrow
    if column.candidates is not None:
        message = "is text in some rows, and something else in others"
        raise Unfit(message)
    if before is not None and before != found:
        numbers = {pa.int64(), pa.float64()}
        if {before, found} != numbers:
            message = f"is {before} in some rows, and {found} in others"
            raise Unfit(message)
        found = pa.float64()
    column.arrow = found


def _arrow_type(values: Sequence[Any]) -> pa.DataType:
    """Tell the type of JSON values that are not all text."""
    if any(isinstance(each, Decimal) for each in values):
        values = [float(each) if isinstance(each, Decimal | int) else each for each in values]
    try:
        found = pa.array(_plain(values)).type
    except (pa.ArrowException, OverflowError) as error:
        message = "has values of several kinds"
        raise Unfit(message) from error
    if _holds_null(found):
        message = "has lists or objects of which no row tells what is in them"
        raise Unfit(message)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value


def _holds_null(type_: pa.DataType) -> bool:
    inside = (type_.field(index).type for index in range(type_.num_fields))
    return bool(pa.types.is_null(type_)) or any(map(_holds_null, inside))


def _reads(texts: pa.Array, type_: pa.DataType) -> bool:
    """Tell whether all texts are of a type, and would be written so again."""
    if pa.types.is_boolean(type_):
        return set(texts.unique().to_pylist()) <= {"true", "false"}
    is_number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
    if is_number and any(map(_LEADING_ZERO.match, texts.to_pylist())):
        return False
    try:
        column_of_text(texts, type_)
    except Unfit:
        return False
    return True


def _ends(edge: Inferred, nodes: Sequence[Inferred]) -> tuple[str, str]:
    """Tell which nodes an edge joins: those that have all the ends that were looked at."""
    joined = []
    for end, seen in edge.ends.items():
        fitting = [_name(node) for node in nodes if len(nodes) == 1 or _has_all(node, seen)]
        if len(fitting) != 1:
            found = " and ".join(fitting) or "none"
            message = (
                f"{edge.key}: the nodes that have its {end!r} are {found} of "
                f"{', '.join(_name(node) for node in nodes) or 'no node files'}: which it is must "
                "be said, in a schema file"
            )
            raise UsageError(message)
        joined.append(fitting[0])
    return joined[0], joined[1]


def _has_all(node: Inferred, seen: Sequence[str]) -> bool:
    missing = set(seen)
    for word in node.words:
        for piece in _rows(word):
            missing -= set(map(str, piece.columns().get("id", ())))
            if not missing:
                return True
    return not missing
