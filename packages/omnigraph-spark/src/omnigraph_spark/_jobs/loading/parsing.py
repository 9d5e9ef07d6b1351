"""A mapping read from a TOML file or from a dict.

Always: everything that is wrong in it is told at once, with its place, what is expected and what
was found. It is not compared here with a graph or with files.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from omnigraph_spark._jobs.loading.mapping import (
    APPEND,
    DUPLICATES,
    FORMATS,
    MISSING_ENDS,
    MODES,
    Allowed,
    Expression,
    LoadMapping,
    Order,
    Origin,
    TableMapping,
)
from omnigraph_spark._jobs.loading.texts import format_of, name_or_template, order_of, share_of
from omnigraph_spark.errors import InvalidMapping

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["allowed", "guess", "parsed", "read_mapping"]

_T = TypeVar("_T")
_TOP: Final = ("tables", "max_rejects")
_EDGE_ONLY: Final = ("src", "dst", "missing_ends")
_KEYS: Final = (
    "table", "files", "format", "options", "schema", "mode", "id", *_EDGE_ONLY, "columns",
    "where", "duplicates", "order_by",
)  # fmt: skip
_FORMAT: Final = f"one of {', '.join(FORMATS)}"
_SHARE: Final = "a number of rows, or a share of them such as '1%'"
_ORIGIN: Final = "a column, a template such as '{name}@{place}', or { expr = '…' } in Spark SQL"


def read_mapping(given: str | Path | Mapping[str, Any]) -> tuple[LoadMapping, str]:
    """Read a mapping; give it with the folder that its files are relative to."""
    if isinstance(given, Mapping):
        return parsed(given), str(Path.cwd())
    path = Path(given)
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidMapping(problems=(f"{path}: should be a file in TOML: {error}",)) from error
    return parsed(found), str(path.resolve().parent)


def parsed(given: Mapping[str, Any]) -> LoadMapping:
    """Read a mapping, or raise ``InvalidMapping`` with every problem."""
    top = _Taking("", given)
    top.refuse_others(_TOP)
    most = top.take("max_rejects", share_of, _SHARE, Allowed())
    listed = top.take("tables", _listed, "a list of tables, each begun by [[tables]]", None)
    if listed is None:
        if "tables" not in given:
            top.wrong("tables", "is missing: a list of tables, each begun by [[tables]]")
        listed = []
    tables = []
    for number, each in enumerate(listed):
        place = f"tables[{number}]"
        if isinstance(each, Mapping):
            tables.append(_table(_Taking(place, each, top.problems)))
        else:
            top.problems.append(f"{place} should be a table of TOML, found {each!r}")
    for key in dict.fromkeys(table.table for table in tables if table.table):
        twice = [table.place for table in tables if table.table == key]
        if len(twice) > 1:
            top.problems.append(
                f"{' and '.join(twice)} are both about {key!r}; name all files in one of them, or "
                "load them one after the other"
            )
    if top.problems:
        raise InvalidMapping(problems=tuple(top.problems))
    return LoadMapping(tables=tuple(tables), max_rejects=most)


def allowed(given: object) -> Allowed:
    """Read how many rows may be rejected."""
    try:
        return share_of(given)
    except ValueError as error:
        problem = f"max_rejects should be {_SHARE}, found {given!r}"
        raise InvalidMapping(problems=(problem,)) from error


def guess(found: str, known: Collection[str]) -> str:
    """Say what was probably meant, and what there is."""
    near = difflib.get_close_matches(found, known, 1, 0.6)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{meant}; there is {', '.join(known)}" if known else f"{meant}; there is none"


class _Taking:
    """One table of TOML, taken apart key by key; what is wrong is noted."""

    def __init__(
        self, place: str, given: Mapping[str, Any], problems: list[str] | None = None
    ) -> None:
        self.place = place
        self.given = given
        self.problems: list[str] = [] if problems is None else problems

    def at(self, key: str) -> str:
        """Name the place of a key."""
        return f"{self.place}.{key}" if self.place else key

    def wrong(self, key: str, what: str) -> None:
        """Note a problem."""
        self.problems.append(f"{self.at(key)} {what}")

    def take(self, key: str, read: Callable[[Any], _T], expected: str, default: Any) -> _T | Any:
        """Take one value, or note what is wrong with it."""
        found = self.given.get(key)
        if found is None:
            return default
        try:
            return read(found)
        except ValueError as error:
            detail = f": it {error}" if str(error) else ""
            self.wrong(key, f"should be {expected}, found {found!r}{detail}")
            return default

    def choice(self, key: str, known: Sequence[str], default: str | None) -> str | None:
        """Take one of several words."""
        found = self.given.get(key)
        if found is None or found in known:
            return default if found is None else str(found)
        near = difflib.get_close_matches(str(found), known, 1, 0.5)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        self.wrong(key, f"should be one of {', '.join(known)}, found {found!r}{meant}")
        return default

    def refuse_others(self, known: Sequence[str]) -> None:
        """Note each key that nobody knows."""
        for key in self.given:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, 1, 0.5)
                meant = f" (did you mean {near[0]!r}?)" if near else ""
                self.wrong(str(key), f"is not known{meant}; there is {', '.join(known)}")


def _table(taking: _Taking) -> TableMapping:
    taking.refuse_others(_KEYS)
    table = taking.take("table", _text, "a table key, like node:Person", "")
    if "table" not in taking.given:
        taking.wrong("table", "is missing: a table key, like node:Person")
    files = taking.take("files", _texts, "one path or a list of paths", ())
    if "files" not in taking.given:
        taking.wrong("files", "is missing: one path or a list of paths")
    is_edge = table.startswith("edge:")
    for key in _EDGE_ONLY:
        if table and not is_edge and key in taking.given:
            taking.wrong(key, f"is for edges only, and {table!r} is none")
    duplicates = taking.choice("duplicates", DUPLICATES, "reject")
    order_by = taking.take("order_by", _orders, "names with asc or desc: 'version desc'", ())
    if (duplicates == "first") != ("order_by" in taking.given):
        taking.wrong("order_by", "and duplicates = 'first' need each other")
    return TableMapping(
        place=taking.place,
        table=table,
        files=files,
        format=_format(taking, files),
        options=taking.take("options", _options, "a table of Spark's reader options", {}),
        schema=taking.take("schema", _text, "columns as in Spark: 'id string, age int'", None),
        mode=taking.choice("mode", MODES, APPEND) or APPEND,
        id=taking.take("id", _origin, _ORIGIN, None),
        src=taking.take("src", _origin, _ORIGIN, None),
        dst=taking.take("dst", _origin, _ORIGIN, None),
        columns=_columns(taking),
        where=taking.take("where", _text, "a condition in Spark SQL", None),
        duplicates=duplicates or "reject",
        order_by=order_by,
        missing_ends=taking.choice("missing_ends", MISSING_ENDS, "reject") if is_edge else None,
    )


def _format(taking: _Taking, files: Sequence[str]) -> str:
    said = taking.choice("format", FORMATS, None)
    if said is not None or "format" in taking.given or not files:
        return said or ""
    kinds = {format_of(path) for path in files}
    if len(kinds) == 1 and None not in kinds:
        return str(kinds.pop())
    taking.wrong("format", f"should be {_FORMAT}: the names of the files do not tell it")
    return ""


def _columns(taking: _Taking) -> dict[str, Origin]:
    given = taking.take("columns", _mapped, "a table: property = column", {})
    inner = _Taking(taking.at("columns"), given, taking.problems)
    found = {str(name): inner.take(name, _origin, _ORIGIN, None) for name in given}
    for name in ("id", "src", "dst"):
        if name in found:
            inner.wrong(name, f"is no property: say it beside columns, as {name} = …")
    return {name: origin for name, origin in found.items() if origin is not None}


def _text(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ValueError
    return given


def _texts(given: Any) -> tuple[str, ...]:
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence) or not listed:
        raise ValueError
    return tuple(map(_text, listed))


def _listed(given: Any) -> list[Any]:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise ValueError
    return list(given)


def _mapped(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError  # noqa: TRY004 - as all that is wrong in a mapping
    return given


def _options(given: Any) -> dict[str, str]:
    found = {}
    for name, value in _mapped(given).items():
        if not isinstance(value, str | int | float):
            raise ValueError  # noqa: TRY004 - as all that is wrong in a mapping
        found[str(name)] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def _origin(given: Any) -> Origin:
    if isinstance(given, str):
        return name_or_template(given)
    if isinstance(given, Mapping) and set(given) == {"expr"}:
        return Expression(_text(given["expr"]))
    raise ValueError


def _orders(given: Any) -> tuple[Order, ...]:
    listed = given.split(",") if isinstance(given, str) else given
    return tuple(map(order_of, _texts(listed)))
