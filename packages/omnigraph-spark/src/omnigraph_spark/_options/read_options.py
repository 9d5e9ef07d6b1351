"""The options of a read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import attrs

from omnigraph_spark._options.option_reader import (
    STORAGE_PREFIX,
    OptionReader,
    RepositoryLocation,
    parse_bool,
    parse_count,
    parse_names,
    parse_text,
)

__all__ = ["ReadOptions", "parse_read_options"]

_PARTITION_ROWS = 1_000_000
_PARTITION_BYTES = 128 * 1024 * 1024
_MOMENTS = ("version", "commit", "as_of", "tag")


@attrs.frozen(kw_only=True)
class ReadOptions:
    """What is read."""

    location: RepositoryLocation
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


def parse_read_options(raw: Mapping[str, str]) -> ReadOptions:
    """Parse the options of a read, or raise ``InvalidOptions`` with every problem."""
    options = OptionReader(raw)
    selectors = [name for name in _MOMENTS if name in {key.lower() for key in raw}]
    if len(selectors) > 1 and {*selectors} != {"commit", "tag"}:
        options.problems.append(f"{' and '.join(map(repr, selectors))} cannot be combined")
    size = "a whole number, 1 or more"
    found = ReadOptions(
        location=options.take_location(),
        table=options.take_required("table", "a table key, like node:Person"),
        branch=options.take("branch", parse_text, "the name of a branch", "main"),
        version=options.take("version", int, "a whole number"),
        commit=options.take("commit", parse_text, "the id of a commit"),
        as_of=options.take(
            "as_of", _parse_time, "a time with time zone, like 2026-01-31T12:00:00Z"
        ),
        tag=options.take("tag", parse_text, "the name of a tag"),
        columns=options.take(
            "columns", parse_names, "names with commas between them, or a JSON list of names"
        ),
        filter=options.take("filter", parse_text, "a filter in Lance's SQL"),
        pushdown=options.take("pushdown", parse_bool, "true or false", False),
        partition_rows=options.take("partition_rows", parse_count, size, _PARTITION_ROWS),
        partition_bytes=options.take("partition_bytes", parse_count, size, _PARTITION_BYTES),
    )
    names = [each.name for each in attrs.fields(ReadOptions) if each.name != "location"]
    options.finish(f"{', '.join(names)}, {STORAGE_PREFIX}…")
    return found


def _parse_time(text: str) -> datetime:
    found = datetime.fromisoformat(text.upper())  # accepts Z, but not z
    if found.tzinfo is None:
        raise ValueError
    return found
