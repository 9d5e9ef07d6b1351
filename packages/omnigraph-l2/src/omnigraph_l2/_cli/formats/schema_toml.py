"""A schema as a TOML file, written and parsed.

Invariant: parsing what ``schema_to_toml`` returns gives an equal schema. All problems of a file are
reported together, with their positions.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_l2 import EdgeType, GraphSchema, NodeType
from omnigraph_l2._cli.exit_status import UsageError
from omnigraph_l2._cli.formats.type_syntax import UnknownType, type_from_text, type_to_text
from omnigraph_l2.errors import InvalidSchema

__all__ = ["read_schema", "schema_from_toml", "schema_to_toml"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_FLAGS = ("required", "unique")


def schema_to_toml(schema: GraphSchema) -> str:
    """Return a schema as TOML."""
    parts = [*(_type_text("nodes", node) for node in schema.nodes)]
    parts += [_type_text("edges", edge) for edge in schema.edges]
    return "\n".join(parts)


def read_schema(path: Path) -> GraphSchema:
    """Read a schema file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"Cannot read {path}: {error.strerror}"
        raise UsageError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8: {error.reason} at byte {error.start}"
        raise UsageError(message) from error
    return schema_from_toml(text, str(path))


def schema_from_toml(text: str, name: str = "the schema") -> GraphSchema:
    """Parse a schema from TOML."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = f"Invalid TOML in {name}: {error}"
        raise UsageError(message) from error
    problems = [
        f"{key!r} must be [nodes.NAME] or [edges.NAME]"
        for key in document
        if key not in {"nodes", "edges"}
    ]
    nodes = [
        NodeType(type_name, **_read_declaration(f"nodes.{type_name}", body, (), problems))
        for type_name, body in _types(document, "nodes", problems)
    ]
    edges = [
        EdgeType(
            type_name,
            source=_read_end(f"edges.{type_name}", body, "source", problems),
            target=_read_end(f"edges.{type_name}", body, "target", problems),
            **_read_declaration(f"edges.{type_name}", body, ("source", "target"), problems),
        )
        for type_name, body in _types(document, "edges", problems)
    ]
    if problems:
        raise InvalidSchema(problems=tuple(problems))
    return GraphSchema(nodes=nodes, edges=edges)


def _types(
    document: Mapping[str, Any], kind: str, problems: list[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    types = document.get(kind, {})
    if not isinstance(types, dict):
        problems.append(f"{kind} must be tables, as in [{kind}.NAME], found {types!r}")
        return
    for name, body in types.items():
        if isinstance(body, dict):
            yield name, body
        else:
            problems.append(f"{kind}.{name} must be a table, found {body!r}")


def _read_declaration(
    where: str, body: Mapping[str, Any], known: tuple[str, ...], problems: list[str]
) -> dict[str, Any]:
    """Read the declaration of a type; append its problems."""
    problems += [
        f"{where}: expected {', '.join((*known, 'properties'))}, found {key!r}"
        for key in body
        if key not in {*known, "properties"}
    ]
    declared = body.get("properties", {})
    if not isinstance(declared, dict):
        problems.append(f"{where}.properties must be a table, found {declared!r}")
        declared = {}
    properties: dict[str, pa.DataType] = {}
    flags: dict[str, list[str]] = {flag: [] for flag in _FLAGS}
    indexes: dict[str, str] = {}
    for name, value in declared.items():
        property_path = f"{where}.properties.{name}"
        declaration = {"type": value} if isinstance(value, str) else value
        found = _read_property(property_path, declaration, problems)
        if found is None:
            continue
        properties[name] = found
        for flag in _FLAGS:
            if declaration.get(flag) is True:
                flags[flag].append(name)
        if "index" in declaration:
            indexes[name] = declaration["index"]
    return {"properties": properties, "indexes": indexes, **flags}


def _read_property(where: str, declaration: Any, problems: list[str]) -> pa.DataType | None:
    if not isinstance(declaration, dict) or not isinstance(declaration.get("type"), str):
        problems.append(
            f'{where} must be a type, as in "int64", or {{ type = "int64", required = true }}, '
            f"found {declaration!r}"
        )
        return None
    for key, value in declaration.items():
        wanted = {"type": str, "index": str, "required": bool, "unique": bool}.get(key)
        if wanted is None:
            problems.append(f"{where}: expected type, required, unique or index, found {key!r}")
        elif not isinstance(value, wanted):
            kind = "text" if wanted is str else "true or false"
            problems.append(f"{where}.{key} must be {kind}, found {value!r}")
    try:
        return type_from_text(declaration["type"])
    except UnknownType as error:
        problems.append(f"{where}: {error}")
        return None


def _read_end(where: str, body: Mapping[str, Any], end: str, problems: list[str]) -> str | None:
    name = body.get(end)
    if name is not None and not isinstance(name, str):
        problems.append(f"{where}.{end} must name a node type, found {name!r}")
        return None
    return name


def _type_text(kind: str, declared: NodeType | EdgeType) -> str:
    head = f"{kind}.{_key(declared.name)}"
    lines = [f"[{head}]"]
    if isinstance(declared, EdgeType):
        lines += [
            f"{end} = {_quote(name)}"
            for end, name in (("source", declared.source), ("target", declared.target))
            if name is not None
        ]
    if declared.properties:
        lines = [] if lines == [f"[{head}]"] else [*lines, ""]
        lines.append(f"[{head}.properties]")
        lines += [
            f"{_key(name)} = {_property_text(declared, name, type_)}"
            for name, type_ in declared.properties.items()
        ]
    return "\n".join([*lines, ""])


def _property_text(declared: NodeType | EdgeType, name: str, type_: pa.DataType) -> str:
    try:
        text = _quote(type_to_text(type_))
    except UnknownType as error:
        problem = f"property {name!r} of {declared.name!r}: {error}"
        raise InvalidSchema(problems=(problem,)) from error
    more = [f"{flag} = true" for flag in _FLAGS if name in getattr(declared, flag)]
    if name in declared.indexes:
        more.append(f"index = {_quote(declared.indexes[name])}")
    return f"{{ {', '.join([f'type = {text}', *more])} }}" if more else text


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quote(name)


def _quote(value: str) -> str:
    """Return text as a TOML string: as in JSON, but with DEL escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
