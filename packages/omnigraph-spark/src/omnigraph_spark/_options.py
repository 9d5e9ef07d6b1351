"""What users say in ``.option(…)``, as values. Pure.

Always: Spark hands over text, with names in lower case. Every wrong option is told at once, with
what is allowed and what was found; the text of a value that may be a secret is never shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import attrs

from omnigraph_spark.errors import InvalidOptions

__all__ = [
    "Options",
    "Place",
    "ReadOptions",
    "count_of",
    "names_of",
    "read_options",
    "text_of",
    "truth_of",
]

_STORAGE = "storage."
_T = TypeVar("_T")
_PARTITION_ROWS = 1_000_000
_PARTITION_BYTES = 128 * 1024 * 1024
_MOMENTS = ("version", "commit", "as_of", "tag")


@attrs.frozen(kw_only=True)
class Place:
    """A repository, and how its store is reached."""

    uri: str
    storage: Mapping[str, str] | None = attrs.field(default=None, repr=False)


@attrs.frozen(kw_only=True)
class ReadOptions:
    """What is read."""

    place: Place
    table: str
    branch: str = "main"
    version: int | None = None
    commit: str | None = None
    as_of: datetime | None = None
    tag: str | None = None
    columns: tuple[str, ...] | None = None
    filter: str | None = None
    pushdown: bool = False
    partition_rows: int = _PARTITION_ROWS
    partition_bytes: int = _PARTITION_BYTES


class Options:
    """The options as they were given, taken out one by one."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._left = {name.lower(): value for name, value in given.items()}
        self.problems: list[str] = []

    def take(
        self, name: str, read: Callable[[str], _T], expected: str, default: Any = None
    ) -> _T | Any:
        """Take one option, or note what is wrong with it."""
        text = self._left.pop(name, None)
        if text is None:
            return default
        try:
            return read(text)
        except ValueError:
            self.problems.append(f"{name!r} is {expected}, found {text!r}")
            return default

    def required(self, name: str, expected: str) -> str:
        """Take one that must be there."""
        found = self.take(name, text_of, expected)
        if found is None:
            self.problems.append(f"{name!r} is missing: {expected}")
        return found or ""

    def place(self) -> Place:
        """Take the repository, and all that is said about its store."""
        uri = self.take("path", text_of, "the place of a repository")
        if uri is None:
            self.problems.append("there is no place: give it to load(…) or save(…)")
        names = [name for name in self._left if name.startswith(_STORAGE)]
        storage = {name[len(_STORAGE) :]: self._left.pop(name) for name in names}
        return Place(uri=uri or "", storage=storage or None)

    def refuse_rest(self, known: str) -> None:
        """Note every option that nobody took, and raise if anything was wrong."""
        self.problems += [
            f"there is no option {name!r}; the options are {known}" for name in self._left
        ]
        if self.problems:
            raise InvalidOptions(problems=tuple(self.problems))


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """Read the options of a read, or raise ``InvalidOptions`` with every problem."""
    options = Options(given)
    moments = [name for name in _MOMENTS if name in {key.lower() for key in given}]
    if len(moments) > 1 and {*moments} != {"commit", "tag"}:
        options.problems.append(f"{' and '.join(map(repr, moments))} are given; one moment is read")
    size = "a whole number, 1 or more"
    found = ReadOptions(
        place=options.place(),
        table=options.required("table", "a table key, like node:Person"),
        branch=options.take("branch", text_of, "the name of a branch", "main"),
        version=options.take("version", int, "a whole number"),
        commit=options.take("commit", text_of, "the id of a commit"),
        as_of=options.take("as_of", _moment, "a moment with its zone, like 2026-01-31T12:00:00Z"),
        tag=options.take("tag", text_of, "the name of a tag"),
        columns=options.take(
            "columns", names_of, "names with commas between them, or a JSON list of names"
        ),
        filter=options.take("filter", text_of, "a filter in Lance's SQL"),
        pushdown=options.take("pushdown", truth_of, "true or false", False),
        partition_rows=options.take("partition_rows", count_of, size, _PARTITION_ROWS),
        partition_bytes=options.take("partition_bytes", count_of, size, _PARTITION_BYTES),
    )
    names = [each.name for each in attrs.fields(ReadOptions) if each.name != "place"]
    options.refuse_rest(f"{', '.join(names)}, {_STORAGE}…")
    return found


def text_of(text: str) -> str:
    """Read text that says something."""
    if not text.strip():
        raise ValueError
    return text


def truth_of(text: str) -> bool:
    """Read true or false."""
    if text.lower() not in {"true", "false"}:
        raise ValueError
    return text.lower() == "true"


def count_of(text: str) -> int:
    """Read a whole number from 1."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _moment(text: str) -> datetime:
    # Python 3.10 does not read the Z.
    found = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in "zZ" else text)
    if found.tzinfo is None:
        raise ValueError
    return found


def names_of(text: str) -> tuple[str, ...]:
    """Read names with commas between them, or a JSON list of names."""
    if not text.lstrip().startswith("["):
        return tuple(name.strip() for name in text.split(",")) if text.strip() else ()
    found = json.loads(text)
    if not all(isinstance(name, str) for name in found):
        raise ValueError
    return tuple(found)
