"""Parse a mapping from a TOML file or a dict.

Invariant: every problem is reported at once, with its position, what is expected and what was
found. The mapping is not compared with a graph or files here.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from omnigraph_spark._jobs.load.load_mapping import (
    APPEND,
    DUPLICATES,
    FORMATS,
    MISSING_ENDS,
    MODES,
    Expression,
    LoadMapping,
    RejectLimit,
    SortKey,
    TableMapping,
    ValueSource,
)
from omnigraph_spark._jobs.load.mapping_syntax import (
    guess_format,
    parse_reject_limit,
    parse_sort_key,
    parse_source,
)
from omnigraph_spark.errors import InvalidMapping

__all__ = ["parse_mapping", "parse_max_rejects", "read_mapping", "suggest"]

_T = TypeVar("_T")
_TOP: Final = ("tables", "max_rejects")
_EDGE_ONLY: Final = ("src", "dst", "missing_ends")
_KEYS: Final = (
    "table", "files", "format", "options", "schema", "mode", "id", *_EDGE_ONLY, "columns",
    "where", "duplicates", "order_by",
)  # fmt: skip
_FORMAT: Final = f"one of {', '.join(FORMATS)}"
_SHARE: Final = "a number of rows, or a share of them such as '1%'"
_ORIGIN: Final = "a column, a template such as '{name}@{location}', or { expr = '…' } in Spark SQL"


def read_mapping(raw: str | Path | Mapping[str, Any]) -> tuple[LoadMapping, str]:
    """Read a mapping; give it with the folder that its files are relative to."""
    if isinstance(raw, Mapping):
        return parse_mapping(raw), str(Path.cwd())
    path = Path(raw)
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidMapping(problems=(f"{path}: should be a file in TOML: {error}",)) from error
    return parse_mapping(found), str(path.resolve().parent)


def parse_mapping(raw: Mapping[str, Any]) -> LoadMapping:
    """Read a mapping, or raise ``InvalidMapping`` with every problem."""
    top = _TomlTable("", raw)
    top.refuse_others(_TOP)
    most = top.take("max_rejects", parse_reject_limit, _SHARE, RejectLimit())
    listed = top.take("tables", _parse_list, "a list of tables, each begun by [[tables]]", None)
    if listed is None:
        if "tables" not in raw:
            top.wrong("tables", "is missing: a list of tables, each begun by [[tables]]")
        listed = []
    tables = []
    for number, each in enumerate(listed):
        position = f"tables[{number}]"
        if isinstance(each, Mapping):
            tables.append(_parse_table(_TomlTable(position, each, top.problems)))
        else:
            top.problems.append(f"{position} should be a table of TOML, found {each!r}")
    for key in dict.fromkeys(table.table for table in tables if table.table):
        twice = [table.position for table in tables if table.table == key]
        if len(twice) > 1:
            top.problems.append(
                f"{' and '.join(twice)} are both about {key!r}; name all files in one of them, or "
                "load them one after the other"
            )
    if top.problems:
        raise InvalidMapping(problems=tuple(top.problems))
    return LoadMapping(tables=tuple(tables), max_rejects=most)


def parse_max_rejects(raw: object) -> RejectLimit:
    """Parse how many rows may be rejected."""
    try:
        return parse_reject_limit(raw)
    except ValueError as error:
        problem = f"max_rejects should be {_SHARE}, found {raw!r}"
        raise InvalidMapping(problems=(problem,)) from error


def suggest(found: str, known: Collection[str]) -> str:
    """Return what was probably meant, and what is available."""
    near = difflib.get_close_matches(found, known, 1, 0.6)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{meant}; there is {', '.join(known)}" if known else f"{meant}; there is none"


class _TomlTable:
    """One table of TOML, read key by key. Problems are collected."""

    def __init__(
        self, position: str, raw: Mapping[str, Any], problems: list[str] | None = None
    ) -> None:
        self.position = position
        self.raw = raw
        self.problems: list[str] = [] if problems is None else problems

    def at(self, key: str) -> str:
        """Return the position of a key."""
        return f"{self.position}.{key}" if self.position else key

    def wrong(self, key: str, what: str) -> None:
        """Add a problem."""
        self.problems.append(f"{self.at(key)} {what}")

    def take(self, key: str, read: Callable[[Any], _T], expected: str, default: Any) -> _T | Any:
        """Return one value, or add a problem."""
        found = self.raw.get(key)
        if found is None:
            return default
        try:
            return read(found)
        except ValueError as error:
            detail = f": it {error}" if str(error) else ""
            self.wrong(key, f"should be {expected}, found {found!r}{detail}")
            return default

    def choice(self, key: str, known: Sequence[str], default: str | None) -> str | None:
        """Return one of several words, or add a problem."""
        found = self.raw.get(key)
        if found is None or found in known:
            return default if found is None else str(found)
        near = difflib.get_close_matches(str(found), known, 1, 0.5)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        self.wrong(key, f"should be one of {', '.join(known)}, found {found!r}{meant}")
        return default

    def refuse_others(self, known: Sequence[str]) -> None:
        """Add a problem for each unknown key."""
        for key in self.raw:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, 1, 0.5)
                meant = f" (did you mean {near[0]!r}?)" if near else ""
                self.wrong(str(key), f"is not known{meant}; there is {', '.join(known)}")


def _parse_table(table_text: _TomlTable) -> TableMapping:
    table_text.refuse_others(_KEYS)
    table = table_text.take("table", _parse_text, "a table key, like node:Person", "")
    if "table" not in table_text.raw:
        table_text.wrong("table", "is missing: a table key, like node:Person")
    files = table_text.take("files", _parse_texts, "one path or a list of paths", ())
    if "files" not in table_text.raw:
        table_text.wrong("files", "is missing: one path or a list of paths")
    is_edge = table.startswith("edge:")
    for key in _EDGE_ONLY:
        if table and not is_edge and key in table_text.raw:
            table_text.wrong(key, f"is for edges only, and {table!r} is none")
    duplicates = table_text.choice("duplicates", DUPLICATES, "reject")
    order_by = table_text.take(
        "order_by", _parse_sort_keys, "names with asc or desc: 'version desc'", ()
    )
    if (duplicates == "first") != ("order_by" in table_text.raw):
        table_text.wrong("order_by", "and duplicates = 'first' need each other")
    return TableMapping(
        position=table_text.position,
        table=table,
        files=files,
        format=_parse_format(table_text, files),
        options=table_text.take("options", _parse_options, "a table of Spark's reader options", {}),
        schema=table_text.take(
            "schema", _parse_text, "columns as in Spark: 'id string, age int'", None
        ),
        mode=table_text.choice("mode", MODES, APPEND) or APPEND,
        id=table_text.take("id", _parse_source, _ORIGIN, None),
        src=table_text.take("src", _parse_source, _ORIGIN, None),
        dst=table_text.take("dst", _parse_source, _ORIGIN, None),
        columns=_parse_columns(table_text),
        where=table_text.take("where", _parse_text, "a condition in Spark SQL", None),
        duplicates=duplicates or "reject",
        order_by=order_by,
        missing_ends=table_text.choice("missing_ends", MISSING_ENDS, "reject") if is_edge else None,
    )


def _parse_format(table_text: _TomlTable, files: Sequence[str]) -> str:
    said = table_text.choice("format", FORMATS, None)
    if said is not None or "format" in table_text.raw or not files:
        return said or ""
    kinds = {guess_format(path) for path in files}
    if len(kinds) == 1 and None not in kinds:
        return str(kinds.pop())
    table_text.wrong("format", f"should be {_FORMAT}: the names of the files do not determine it")
    return ""


def _parse_columns(table_text: _TomlTable) -> dict[str, ValueSource]:
    raw = table_text.take("columns", _parse_mapping, "a table: property = column", {})
    inner = _TomlTable(table_text.at("columns"), raw, table_text.problems)
    found = {str(name): inner.take(name, _parse_source, _ORIGIN, None) for name in raw}
    for name in ("id", "src", "dst"):
        if name in found:
            inner.wrong(name, f"is no property: set {name} = … outside of columns")
    return {name: origin for name, origin in found.items() if origin is not None}


def _parse_text(raw: Any) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise ValueError
    return raw


def _parse_texts(raw: Any) -> tuple[str, ...]:
    listed = [raw] if isinstance(raw, str) else raw
    if not isinstance(listed, Sequence) or not listed:
        raise ValueError
    return tuple(map(_parse_text, listed))


def _parse_list(raw: Any) -> list[Any]:
    if not isinstance(raw, Sequence) or isinstance(raw, str) or not raw:
        raise ValueError
    return list(raw)


def _parse_mapping(raw: Any) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise ValueError  # noqa: TRY004 - as all that is wrong in a mapping
    return raw


def _parse_options(raw: Any) -> dict[str, str]:
    found = {}
    for name, value in _parse_mapping(raw).items():
        if not isinstance(value, str | int | float):
            raise ValueError  # noqa: TRY004 - as all that is wrong in a mapping
        found[str(name)] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def _parse_source(raw: Any) -> ValueSource:
    if isinstance(raw, str):
        return parse_source(raw)
    if isinstance(raw, Mapping) and set(raw) == {"expr"}:
        return Expression(_parse_text(raw["expr"]))
    raise ValueError


def _parse_sort_keys(raw: Any) -> tuple[SortKey, ...]:
    listed = raw.split(",") if isinstance(raw, str) else raw
    return tuple(map(parse_sort_key, _parse_texts(listed)))
