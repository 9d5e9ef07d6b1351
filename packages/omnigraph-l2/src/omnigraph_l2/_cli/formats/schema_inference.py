"""The types of a graph, inferred from files of rows.

Invariant: every row is read, so the inferred types hold every value. What the data does not
determine, such as the node type of an edge endpoint if several match, is an error.
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
from omnigraph_l2._cli.exit_status import UsageError
from omnigraph_l2._cli.formats.file_readers import Malformed, read_pieces
from omnigraph_l2._cli.formats.file_rows import ArrowRows, Rows
from omnigraph_l2._cli.formats.input_files import (
    STDIN,
    InputFile,
    group_files,
    open_file,
    parse_file_name,
)
from omnigraph_l2._cli.formats.json_to_arrow import Unfit, convert_text

__all__ = ["InferredTable", "infer_schema"]

_KEY_COLUMNS: Final = ("id", "src", "dst")
_TEXT_TYPES: Final = (
    pa.bool_(), pa.int64(), pa.float64(), pa.date32(), pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
)  # fmt: skip
"""The types that text may have, the narrowest first; otherwise it is a string."""
_TIMES: Final = _TEXT_TYPES[3:]
_LEADING_ZERO: Final = re.compile(r"[+-]?0\d")
_SAMPLED_ENDS: Final = 1000


@define
class _Column:
    """The types that a column may still have."""

    candidates: list[pa.DataType] | None = None
    """None before the first value."""
    arrow: pa.DataType | None = None

    def see_text(self, values: pa.Array, types: Sequence[pa.DataType]) -> None:
        """Exclude the types that do not hold these texts."""
        texts = values.drop_null()
        if not len(texts):
            return
        left = list(types) if self.candidates is None else self.candidates
        self.candidates = [each for each in left if _reads(texts, each)]

    @property
    def type(self) -> pa.DataType:
        """The narrowest type that holds all values."""
        if self.arrow is not None:
            return self.arrow
        return self.candidates[0] if self.candidates else pa.string()


@define
class InferredTable:
    """The columns and endpoints found in the files of one table."""

    key: str
    rows: int = 0
    columns: dict[str, _Column] = field(factory=dict)
    ends: dict[str, list[str]] = field(factory=lambda: {"src": [], "dst": []})
    words: list[InputFile] = field(factory=list)

    @property
    def properties(self) -> dict[str, pa.DataType]:
        """The columns other than keys."""
        keys = _KEY_COLUMNS if self.key.startswith("edge:") else _KEY_COLUMNS[:1]
        return {name: each.type for name, each in self.columns.items() if name not in keys}


def infer_schema(words: Sequence[str]) -> tuple[GraphSchema, list[InferredTable]]:
    """Read files; return the schema and the tables it was inferred from."""
    found: dict[str, InferredTable] = {}
    for table, names in group_files(words).items():
        for name in names:
            if name == STDIN:
                message = "Cannot infer types from standard input, because it can be read only once"
                raise UsageError(message)
            word = parse_file_name(name, None)
            key = table or _key_of(word)
            one = found.setdefault(key, InferredTable(key))
            one.words.append(word)
            _scan_file(one, word)
    nodes = [each for each in found.values() if each.key.startswith("node:")]
    edges = [each for each in found.values() if each.key.startswith("edge:")]
    schema = GraphSchema(
        nodes=[NodeType(_name(each), each.properties) for each in nodes],
        edges=[EdgeType(_name(each), *_ends(each, nodes), each.properties) for each in edges],
    )
    return schema, [*nodes, *edges]


def _name(each: InferredTable) -> str:
    return each.key.partition(":")[2]


def _key_of(word: InputFile) -> str:
    """Return the table of a file, by the file name; of edges if it has src and dst."""
    name = Path(word.name).name.split(".")[0]
    names = next((set(piece.names) for piece in _rows(word)), set())
    return f"edge:{name}" if {"src", "dst"} <= names else f"node:{name}"


def _rows(word: InputFile) -> Iterator[Rows]:
    with open_file(word) as file:
        for piece in read_pieces(word, file, exact=True):
            if not isinstance(piece, Malformed):
                yield piece


def _scan_file(one: InferredTable, word: InputFile) -> None:
    for piece in _rows(word):
        one.rows += len(piece)
        if isinstance(piece, ArrowRows):
            _see_arrow(one, word, piece)
        else:
            _see_values(one, word, piece)
        columns = piece.columns()
        for end in one.ends:
            if len(one.ends[end]) < _SAMPLED_ENDS:
                values = (str(each) for each in columns.get(end, ()) if each is not None)
                one.ends[end] += islice(values, _SAMPLED_ENDS)


def _see_arrow(one: InferredTable, word: InputFile, piece: ArrowRows) -> None:
    for name, type_ in piece.types().items():
        column = one.columns.setdefault(name, _Column())
        if column.arrow is not None and column.arrow != type_:
            message = (
                f"{word.name}: {name!r} is {type_}, but {column.arrow} in an earlier file. "
                "Write a schema file"
            )
            raise UsageError(message)
        column.arrow = type_


def _see_values(one: InferredTable, word: InputFile, piece: Rows) -> None:
    for name, values in piece.columns().items():
        column = one.columns.setdefault(name, _Column())
        if piece.has_header:
            column.see_text(pa.array(values, pa.string()), _TEXT_TYPES)
            continue
        try:
            _see_json(column, values)
        except Unfit as error:
            message = f"{word.name}: {name!r} {error}. Write a schema file"
            raise UsageError(message) from error


def _see_json(column: _Column, values: Sequence[Any]) -> None:
    values = [each for each in values if each is not None]
    if not values:
        return
    if all(isinstance(each, str) for each in values):
        if column.arrow is not None:
            message = "is text only in some rows"
            raise Unfit(message)
        column.see_text(pa.array(values, pa.string()), _TIMES)
        return
    found = _arrow_type(values)
    before = column.arrow
    if column.candidates is not None:
        message = "is text only in some rows"
        raise Unfit(message)
    if before is not None and before != found:
        numbers = {pa.int64(), pa.float64()}
        if {before, found} != numbers:
            message = f"is {before} in some rows and {found} in others"
            raise Unfit(message)
        found = pa.float64()
    column.arrow = found


def _arrow_type(values: Sequence[Any]) -> pa.DataType:
    """Return the type of JSON values that are not all text."""
    if any(isinstance(each, Decimal) for each in values):
        values = [float(each) if isinstance(each, Decimal | int) else each for each in values]
    try:
        found = pa.array(_plain(values)).type
    except (pa.ArrowException, OverflowError) as error:
        message = "has values of several kinds"
        raise Unfit(message) from error
    if _holds_null(found):
        message = "has only empty lists or objects"
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
    """Return whether all texts have a type without loss."""
    if pa.types.is_boolean(type_):
        return set(texts.unique().to_pylist()) <= {"true", "false"}
    is_number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
    if is_number and any(map(_LEADING_ZERO.match, texts.to_pylist())):
        return False
    try:
        convert_text(texts, type_)
    except Unfit:
        return False
    return True


def _ends(edge: InferredTable, nodes: Sequence[InferredTable]) -> tuple[str, str]:
    """Return the node types of an edge: those that have all the sampled endpoints."""
    joined = []
    for end, seen in edge.ends.items():
        fitting = [_name(node) for node in nodes if len(nodes) == 1 or _has_all(node, seen)]
        if len(fitting) != 1:
            found = " and ".join(fitting) or "none"
            message = (
                f"{edge.key}: the node types that match its {end!r} are {found} of "
                f"{', '.join(_name(node) for node in nodes) or 'no node files'}. Write a schema "
                "file"
            )
            raise UsageError(message)
        joined.append(fitting[0])
    return joined[0], joined[1]


def _has_all(node: InferredTable, seen: Sequence[str]) -> bool:
    missing = set(seen)
    for word in node.words:
        for piece in _rows(word):
            missing -= set(map(str, piece.columns().get("id", ())))
            if not missing:
                return True
    return not missing
