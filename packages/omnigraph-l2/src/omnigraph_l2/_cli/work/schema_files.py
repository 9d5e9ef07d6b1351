"""A schema as a TOML file that people write, and back. Pure, but for reading the file.

Always: what ``written`` gives ``read`` takes as an equal schema. What is wrong in a file is told at
once, with where it stands.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_l2 import EdgeType, GraphSchema, NodeType
from omnigraph_l2._cli.status import UsageError
from omnigraph_l2._cli.work.type_words import UnknownType, type_of, word_of
from omnigraph_l2.errors import InvalidSchema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["parsed", "read", "written"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_FLAGS = ("required", "unique")


def written(schema: GraphSchema) -> str:
    """Write a schema as TOML."""
    parts = [*(_type("nodes", node) for node in schema.nodes)]
    parts += [_type("edges", edge) for edge in schema.edges]
    return "\n".join(parts)


def read(path: Path) -> GraphSchema:
    """Read the schema in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise UsageError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path} is no text in UTF-8: {error.reason} at byte {error.start}"
        raise UsageError(message) from error
    return parsed(text, str(path))


def parsed(text: str, name: str = "the schema") -> GraphSchema:
    """Read a schema from TOML."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = f"{name} is no TOML: {error}"
        raise UsageError(message) from error
    problems = [
        f"{key!r} should be [nodes.NAME] or [edges.NAME]"
        for key in document
        if key not in {"nodes", "edges"}
    ]
    nodes = [
        NodeType(type_name, **_declared(f"nodes.{type_name}", body, (), problems))
        for type_name, body in _types(document, "nodes", problems)
    ]
    edges = [
        EdgeType(
            type_name,
            source=_end(f"edges.{type_name}", body, "source", problems),
            target=_end(f"edges.{type_name}", body, "target", problems),
            **_declared(f"edges.{type_name}", body, ("source", "target"), problems),
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
        problems.append(f"{kind} should be tables, as in [{kind}.NAME], found {types!r}")
        return
    for name, body in types.items():
        if isinstance(body, dict):
            yield name, body
        else:
            problems.append(f"{kind}.{name} should be a table, found {body!r}")


def _declared(
    where: str, body: Mapping[str, Any], known: tuple[str, ...], problems: list[str]
) -> dict[str, Any]:
    """Read what a type declares, or note what is wrong with it."""
    problems += [
        f"{where} has {', '.join((*known, 'properties'))}, found {key!r}"
        for key in body
        if key not in {*known, "properties"}
    ]
    given = body.get("properties", {})
    if not isinstance(given, dict):
        problems.append(f"{where}.properties should be a table, found {given!r}")
        given = {}
    properties: dict[str, pa.DataType] = {}
    flags: dict[str, list[str]] = {flag: [] for flag in _FLAGS}
    indexes: dict[str, str] = {}
    for name, said in given.items():
        place = f"{where}.properties.{name}"
        said_fully = {"type": said} if isinstance(said, str) else said
        found = _property(place, said_fully, problems)
        if found is None:
            continue
        properties[name] = found
        for flag in _FLAGS:
            if said_fully.get(flag) is True:
                flags[flag].append(name)
        if "index" in said_fully:
            indexes[name] = said_fully["index"]
    return {"properties": properties, "indexes": indexes, **flags}


def _property(place: str, said: Any, problems: list[str]) -> pa.DataType | None:
    if not isinstance(said, dict) or not isinstance(said.get("type"), str):
        problems.append(
            f'{place} should be a type, as in "int64", or {{ type = "int64", required = true }}, '
            f"found {said!r}"
        )
        return None
    for key, value in said.items():
        wanted = {"type": str, "index": str, "required": bool, "unique": bool}.get(key)
        if wanted is None:
            problems.append(f"{place} has type, required, unique, index, found {key!r}")
        elif not isinstance(value, wanted):
            kind = "text" if wanted is str else "true or false"
            problems.append(f"{place}.{key} should be {kind}, found {value!r}")
    try:
        return type_of(said["type"])
    except UnknownType as error:
        problems.append(f"{place}: {error}")
        return None


def _end(where: str, body: Mapping[str, Any], end: str, problems: list[str]) -> str | None:
    said = body.get(end)
    if said is not None and not isinstance(said, str):
        problems.append(f"{where}.{end} should name a node type, found {said!r}")
        return None
    return said


def _type(kind: str, declared: NodeType | EdgeType) -> str:
    head = f"{kind}.{_key(declared.name)}"
    lines = [f"[{head}]"]
    if isinstance(declared, EdgeType):
        lines += [
            f"{end} = {_text(name)}"
            for end, name in (("source", declared.source), ("target", declared.target))
            if name is not None
        ]
    if declared.properties:
        lines = [] if lines == [f"[{head}]"] else [*lines, ""]
        lines.append(f"[{head}.properties]")
        lines += [
            f"{_key(name)} = {_said(declared, name, type_)}"
            for name, type_ in declared.properties.items()
        ]
    return "\n".join([*lines, ""])


def _said(declared: NodeType | EdgeType, name: str, type_: pa.DataType) -> str:
    try:
        said = _text(word_of(type_))
    except UnknownType as error:
        problem = f"property {name!r} of {declared.name!r}: {error}"
        raise InvalidSchema(problems=(problem,)) from error
    more = [f"{flag} = true" for flag in _FLAGS if name in getattr(declared, flag)]
    if name in declared.indexes:
        more.append(f"index = {_text(declared.indexes[name])}")
    return f"{{ {', '.join([f'type = {said}', *more])} }}" if more else said


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    """Write text as TOML has it: as JSON does, which leaves DEL as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
