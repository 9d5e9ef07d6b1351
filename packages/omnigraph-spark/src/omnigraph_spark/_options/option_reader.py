"""Parse the text of ``.option(…)``.

Invariant: every wrong option is reported at once, with what is allowed and what was found. The text
of a value that may be a secret is never shown. Spark passes names in lower case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs

from omnigraph_l2 import Repository
from omnigraph_spark.errors import InvalidOptions

__all__ = [
    "OptionReader",
    "RepositoryLocation",
    "parse_bool",
    "parse_count",
    "parse_names",
    "parse_text",
]

STORAGE_PREFIX = "storage."
_T = TypeVar("_T")


@attrs.frozen(kw_only=True)
class RepositoryLocation:
    """The location of a repository, and the options of its store."""

    uri: str
    storage: Mapping[str, str] | None = attrs.field(default=None, repr=False)

    def open(self) -> Repository:
        """Open the repository."""
        return Repository.open(self.uri, dict(self.storage) if self.storage else None)


class OptionReader:
    """The options of one read or write, taken one by one. Problems are collected."""

    def __init__(self, raw: Mapping[str, str]) -> None:
        self._left = {name.lower(): value for name, value in raw.items()}
        self.problems: list[str] = []

    def take(
        self, name: str, read: Callable[[str], _T], expected: str, default: Any = None
    ) -> _T | Any:
        """Return one option, or add a problem."""
        text = self._left.pop(name, None)
        if text is None:
            return default
        try:
            return read(text)
        except ValueError:
            self.problems.append(f"invalid {name!r} {text!r}: expected {expected}")
            return default

    def take_required(self, name: str, expected: str) -> str:
        """Return a required option, or add a problem."""
        found = self.take(name, parse_text, expected)
        if found is None:
            self.problems.append(f"{name!r} is missing: {expected}")
        return found or ""

    def take_location(self) -> RepositoryLocation:
        """Return the location and all options of its store."""
        uri = self.take("path", parse_text, "the location of a repository")
        if uri is None:
            self.problems.append("the location is missing: pass it to load(…) or save(…)")
        names = [name for name in self._left if name.startswith(STORAGE_PREFIX)]
        storage = {name[len(STORAGE_PREFIX) :]: self._left.pop(name) for name in names}
        return RepositoryLocation(uri=uri or "", storage=storage or None)

    def finish(self, known: str) -> None:
        """Add a problem for each unknown option; raise ``InvalidOptions`` if there are any."""
        self.problems += [
            f"unknown option {name!r}: expected one of {known}" for name in self._left
        ]
        if self.problems:
            raise InvalidOptions(problems=tuple(self.problems))


def parse_text(text: str) -> str:
    """Parse text that is not blank."""
    if not text.strip():
        raise ValueError
    return text


def parse_bool(text: str) -> bool:
    """Parse true or false."""
    if text.lower() not in {"true", "false"}:
        raise ValueError
    return text.lower() == "true"


def parse_count(text: str) -> int:
    """Parse a whole number from 1."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def parse_names(text: str) -> tuple[str, ...]:
    """Parse names separated by commas, or a JSON list of names."""
    if not text.lstrip().startswith("["):
        return tuple(name.strip() for name in text.split(",")) if text.strip() else ()
    found = json.loads(text)
    if not all(isinstance(name, str) for name in found):
        raise ValueError
    return tuple(found)
